// SPDX-License-Identifier: Apache-2.0
//
// How work is dealt to ranks, the processes that compute one model together. A function of numbers alone, so that every
// rank knows what all others have.

#ifndef SKALD_BASE_RANKS_RANK_SHARE_H_
#define SKALD_BASE_RANKS_RANK_SHARE_H_

#include <cstddef>

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
};

// Returns the part of `count` items that a rank gets: as many as any other or one more; the first ranks have more.
constexpr DealtRange Deal(size_t count, const RankShare& share) {
  const auto begin = [&](size_t rank) { return (count * rank + share.ranks - 1) / share.ranks; };
  return {begin(share.rank), begin(share.rank + 1)};
}

// Whether `units` of something that cannot be divided further are dealt at all: where some ranks would get none, every
// rank computes all of them.
constexpr bool AreDealt(size_t units, size_t ranks) { return ranks > 1 && units >= ranks; }

}  // namespace skald

#endif  // SKALD_BASE_RANKS_RANK_SHARE_H_
