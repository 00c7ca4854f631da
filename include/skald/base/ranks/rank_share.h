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
  size_t rank = 0;
  size_t ranks = 1;

  friend constexpr bool operator==(const RankShare&, const RankShare&) = default;
};

/// Items [begin, end).
struct PartitionedRange {
  size_t begin, end;

  constexpr size_t size() const { return end - begin; }
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

/// Consecutive rows or elements in `units` of equal size that are partitioned; 0: every rank has all of them.
struct PartitionedSection {
  size_t size = 0, units = 0;
  /// How many ranks may share a unit if there are fewer units than ranks: each rank has one of at least as many parts
  /// of it, or a copy of the unit.
  size_t sharers = 1;
  bool is_copied = false;
};

constexpr bool ArePartitioned(const PartitionedSection& section, size_t ranks) {
  return ArePartitioned(section.units * section.sharers, ranks);
}

/// Whether any of the sections is partitioned.
constexpr bool ArePartitioned(std::span<const PartitionedSection> sections, size_t ranks) {
  for (const PartitionedSection& section : sections) {
    if (ArePartitioned(section, ranks)) return true;
  }
  return false;
}

/// Returns a rank's part of a section.
constexpr PartitionedRange Partition(const PartitionedSection& section, const RankShare& share) {
  if (!ArePartitioned(section, share.ranks)) return {0, section.size};
  const size_t units = section.units, unit = section.size / units;
  if (units >= share.ranks) {
    const auto [begin, end] = Partition(units, share);
    return {begin * unit, end * unit};
  }
  // Consecutive ranks share a unit.
  const auto first_rank = [&](size_t number) { return (number * share.ranks + units - 1) / units; };
  const size_t own = share.rank * units / share.ranks, first = first_rank(own), begin = own * unit;
  if (section.is_copied) return {begin, begin + unit};
  const PartitionedRange parts = Partition(section.sharers, {share.rank - first, first_rank(own + 1) - first});
  const size_t part = unit / section.sharers;
  return {begin + parts.begin * part, begin + parts.end * part};
}

/// Returns a rank's part of each of some consecutive sections, as places in all of them together.
constexpr std::vector<PartitionedRange> PartitionEach(std::span<const PartitionedSection> sections,
                                                      const RankShare& share) {
  std::vector<PartitionedRange> ranges;
  size_t first = 0;
  for (const PartitionedSection& section : sections) {
    const auto [begin, end] = Partition(section, share);
    ranges.push_back({first + begin, first + end});
    first += section.size;
  }
  return ranges;
}

/// Returns the sections `count` times over.
constexpr std::vector<PartitionedSection> Repeated(std::span<const PartitionedSection> sections, size_t count) {
  std::vector<PartitionedSection> all;
  for (size_t i = 0; i < count; ++i) all.insert(all.end(), sections.begin(), sections.end());
  return all;
}

/// Returns how many elements of the sections a rank has.
constexpr size_t PartitionedSize(std::span<const PartitionedSection> sections, const RankShare& share) {
  size_t sum = 0;
  for (const PartitionedRange& range : PartitionEach(sections, share)) sum += range.size();
  return sum;
}

}  // namespace skald

#endif  // SKALD_BASE_RANKS_RANK_SHARE_H_
