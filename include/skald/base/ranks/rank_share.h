// SPDX-License-Identifier: Apache-2.0
//
// How work is partitioned among ranks, the processes that compute one model together. A pure function of numbers, so
// that every rank knows the parts of all others.

#ifndef SKALD_BASE_RANKS_RANK_SHARE_H_
#define SKALD_BASE_RANKS_RANK_SHARE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace skald {

/// One rank among all.
struct RankShare {
  size_t rank = 0;   ///< less than `ranks`
  size_t ranks = 1;  ///< that compute together; 1: no ranks

  friend constexpr bool operator==(const RankShare&, const RankShare&) = default;
};

/// Items [begin, end).
struct PartitionedRange {
  size_t begin, end;

  constexpr size_t size() const { return end - begin; }
  /// Whether an item is in the range.
  constexpr bool Contains(size_t item) const { return item >= begin && item < end; }
};

/// Returns the part of `count` items that a rank gets. Parts differ by at most one item; the first ranks have the
/// larger ones.
constexpr PartitionedRange Partition(size_t count, const RankShare& share) {
  const auto begin = [&](size_t rank) { return (count * rank + share.ranks - 1) / share.ranks; };
  return {begin(share.rank), begin(share.rank + 1)};
}

/// Whether `units` of indivisible work are partitioned at all: if some ranks would get none, every rank computes all of
/// them.
constexpr bool ArePartitioned(size_t units, size_t ranks) { return ranks > 1 && units >= ranks; }

/// An axis of a parameter or of a state: how many elements it has, and what these belong to, heads or columns, say, of
/// which ranks have some each. A layer labels its sizes so, and what a rank has of all that is as long follows. A
/// number alone is an axis that is not partitioned: every rank has all of it.
struct Axis {
  size_t size = 0;
  size_t units = 0;  ///< of equal size, which stay whole; 0: the axis is not partitioned
  /// How many ranks may share a unit if there are fewer units than ranks. Each has one of at least as many parts of it,
  /// or a copy of the unit.
  size_t sharers = 1;
  bool is_copied = false;  ///< a rank with a part of a unit has all of it, as the other ranks that share it
  size_t tiles = 1;        ///< of equal size, one after the other, each of which has all units

  constexpr Axis() = default;
  /// An axis of `elements` elements; the other values as the members.
  constexpr Axis(size_t elements, size_t of_units = 0, size_t most_sharers = 1,
                 bool copied = false)  // NOLINT: a number
      : size(elements), units(of_units), sharers(most_sharers), is_copied(copied) {}
  constexpr operator size_t() const { return size; }  // NOLINT: the same

  /// The axis so many times over.
  constexpr Axis Times(size_t count) const {
    Axis all = *this;
    all.size *= count, all.tiles *= count;
    return all;
  }

  /// One of the tiles.
  constexpr Axis Tile() const { return {size / tiles, units, sharers, is_copied}; }
};

constexpr bool ArePartitioned(const Axis& axis, size_t ranks) {
  return ArePartitioned(axis.units * axis.sharers, ranks);
}

/// Whether any of the axes is partitioned.
constexpr bool ArePartitioned(std::span<const Axis> axes, size_t ranks) {
  for (const Axis& axis : axes) {
    if (ArePartitioned(axis, ranks)) return true;
  }
  return false;
}

/// Returns what a rank has of each tile of an axis.
constexpr PartitionedRange Partition(const Axis& axis, const RankShare& share) {
  const size_t size = axis.size / axis.tiles;
  if (!ArePartitioned(axis, share.ranks)) return {0, size};
  const size_t units = axis.units, unit = size / units;
  if (units >= share.ranks) {
    const auto [begin, end] = Partition(units, share);
    return {begin * unit, end * unit};
  }
  // Consecutive ranks share a unit.
  const auto first_rank = [&](size_t number) { return (number * share.ranks + units - 1) / units; };
  const size_t own = share.rank * units / share.ranks, first = first_rank(own), begin = own * unit;
  if (axis.is_copied) return {begin, begin + unit};
  const PartitionedRange parts = Partition(axis.sharers, {share.rank - first, first_rank(own + 1) - first});
  const size_t part = unit / axis.sharers;
  return {begin + parts.begin * part, begin + parts.end * part};
}

/// Returns what a rank has of some axes that follow each other: places in all of them together, in rising order.
constexpr std::vector<PartitionedRange> PartitionEach(std::span<const Axis> axes, const RankShare& share) {
  std::vector<PartitionedRange> ranges;
  size_t first = 0;
  for (const Axis& axis : axes) {
    const auto [begin, end] = Partition(axis, share);
    for (size_t tile = 0; tile < axis.tiles; ++tile) {
      ranges.push_back({first + begin, first + end});
      first += axis.size / axis.tiles;
    }
  }
  return ranges;
}

/// Returns how much of the axes a rank has.
constexpr size_t PartitionedSize(std::span<const Axis> axes, const RankShare& share) {
  size_t sum = 0;
  for (const PartitionedRange& range : PartitionEach(axes, share)) sum += range.size();
  return sum;
}

/// Returns the size of some axes together.
constexpr size_t SizeOf(std::span<const Axis> axes) {
  size_t sum = 0;
  for (const Axis& axis : axes) sum += axis.size;
  return sum;
}

}  // namespace skald

#endif  // SKALD_BASE_RANKS_RANK_SHARE_H_
