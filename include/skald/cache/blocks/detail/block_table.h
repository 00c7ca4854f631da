// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/block_table.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_BLOCK_TABLE_H_
#define SKALD_CACHE_BLOCKS_DETAIL_BLOCK_TABLE_H_

#include "skald/cache/blocks/block_table.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE bool HasPresentState(const GroupTable& states, uint32_t tokens) {
  const size_t bases = states.first_token > 0 ? 1 : 0;
  return states.first_token == tokens || states.blocks.size() > bases;
}

SKALD_INLINE Segments Slice(const Segments& order, uint32_t begin, uint32_t end) {
  Segments slice;
  uint32_t at = 0;
  for (const Segment& run : order) {
    const uint32_t from = std::max(begin, at), to = std::min(end, at + run.length);
    if (from < to) slice.push_back({run.source + (from - at), to - from});
    at += run.length;
  }
  return slice;
}

SKALD_INLINE Segments Concatenate(Segments a, const Segments& b) {
  for (const Segment& run : b) {
    if (!a.empty() && a.back().source + a.back().length == run.source) {
      a.back().length += run.length;
    } else {
      a.push_back(run);
    }
  }
  return a;
}

SKALD_INLINE uint32_t FirstRetained(const BlockTable& table, uint32_t first_stored) {
  const Segment whole{0, table.tokens};
  const std::span<const Segment> order = table.edits.empty() ? std::span(&whole, 1) : std::span(table.edits);
  uint32_t at = table.tokens;
  for (auto run = order.rbegin(); run != order.rend(); ++run) {
    if (run->source < first_stored) {
      const uint32_t end = run->source + run->length;
      return end <= first_stored ? at : at - (end - first_stored);
    }
    at -= run->length;
  }
  return 0;
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_BLOCK_TABLE_H_
