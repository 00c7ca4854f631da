// SPDX-License-Identifier: Apache-2.0
//
// How work is dealt to ranks, the processes that compute one model together. A function of numbers alone, so that every
// rank knows what all others have.

#ifndef SKALD_BASE_RANKS_RANK_SHARE_H_
#define SKALD_BASE_RANKS_RANK_SHARE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace skald {

// One rank among all.
struct RankShare {
  size_t rank = 0;
  size_t ranks = 1;

  friend constexpr bool operator==(const RankShare&, const RankShare&) = default;
};

// Items [begin, end).
struct DealtRange {
  size_t begin, end;

  constexpr size_t size() const { return end - begin; }
  constexpr bool Contains(size_t item) const { return item >= begin && item < end; }
};

// Returns the part of `count` items that a rank gets: as many as any other or one more; the first ranks have more.
constexpr DealtRange Deal(size_t count, const RankShare& share) {
  const auto begin = [&](size_t rank) { return (count * rank + share.ranks - 1) / share.ranks; };
  return {begin(share.rank), begin(share.rank + 1)};
}

// Whether `units` of something that cannot be divided further are dealt at all: where some ranks would get none, every
// rank computes all of them.
constexpr bool AreDealt(size_t units, size_t ranks) { return ranks > 1 && units >= ranks; }

// Rows or elements one after the other, `units` of equal size that are dealt; 0: every rank has all of them.
struct DealtSection {
  size_t size = 0, units = 0;
};

// Whether any of the sections is dealt.
constexpr bool AreDealt(std::span<const DealtSection> sections, size_t ranks) {
  for (const DealtSection& section : sections) {
    if (AreDealt(section.units, ranks)) return true;
  }
  return false;
}

// Returns what a rank has of each of some sections that follow each other: places in all of them together.
constexpr std::vector<DealtRange> DealEach(std::span<const DealtSection> sections, const RankShare& share) {
  std::vector<DealtRange> ranges;
  size_t first = 0;
  for (const auto& [size, units] : sections) {
    const bool is_dealt = AreDealt(units, share.ranks);
    const auto [begin, end] = is_dealt ? Deal(units, share) : DealtRange{0, 1};
    const size_t unit = size / (is_dealt ? units : 1);
    ranges.push_back({first + begin * unit, first + end * unit});
    first += size;
  }
  return ranges;
}

// Returns the sections `count` times over.
constexpr std::vector<DealtSection> Repeated(std::span<const DealtSection> sections, size_t count) {
  std::vector<DealtSection> all;
  for (size_t i = 0; i < count; ++i) all.insert(all.end(), sections.begin(), sections.end());
  return all;
}

// Returns how much of the sections a rank has.
constexpr size_t DealtSize(std::span<const DealtSection> sections, const RankShare& share) {
  size_t sum = 0;
  for (const DealtRange& range : DealEach(sections, share)) sum += range.size();
  return sum;
}

}  // namespace skald

#endif  // SKALD_BASE_RANKS_RANK_SHARE_H_
