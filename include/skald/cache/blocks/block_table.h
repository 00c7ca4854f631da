// SPDX-License-Identifier: Apache-2.0
//
// BlockTable: which blocks, in which order, hold one sequence, for every group of its layout at once, so that no
// two groups can stand at different positions. Plain data without pointers: it can be copied, compared, recorded
// and sent. It owns nothing; TableLease (table_lease.h) ties a table to the references it holds.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_
#define SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace skald {

// Number of a block within its group of a pool.
using BlockId = uint32_t;

// No group has more blocks; a step numbers those that it does not have yet from here on.
inline constexpr BlockId kMaxBlocks = BlockId{1} << 31;

// The blocks of one group.
//
// Attention: block i of a sequence holds positions [i * block_tokens, (i + 1) * block_tokens); the list begins with
// the block of `first_token`. State of earlier tokens, out of every window, is released.
// Recurrence: block i of the list is the state after first_token + i tokens; the last is the present one. There is
// none for 0 tokens.
// Replayed recurrence: the state after first_token tokens, the base, then the present one, unless the base is that.
// There is no base for 0 tokens, and no present state after a rewind: the next step replays the inputs up to there.
// Inputs: block i is what the token at first_token + i gave to the layers; first_token is that of the states' group.
struct GroupTable {
  uint32_t first_token = 0;
  std::vector<BlockId> blocks;

  friend bool operator==(const GroupTable&, const GroupTable&) = default;
};

// Whether a replayed group of a sequence of `tokens` tokens lists the present state.
inline bool HasPresentState(const GroupTable& states, uint32_t tokens) {
  const size_t bases = states.first_token > 0 ? 1 : 0;
  return states.first_token == tokens || states.blocks.size() > bases;
}

// A run of tokens that stays together: `length` tokens stored at positions [source, source + length).
struct Segment {
  uint32_t source = 0;
  uint32_t length = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// Tokens in their present order, as runs of the positions they are stored at. Erasing and moving tokens edits this
// list only; the next step carries it out in the blocks. Free functions, so that the list stays plain data.
using Segments = std::vector<Segment>;

struct BlockTable {
  uint32_t tokens = 0;  // length of the sequence, edits included
  std::vector<GroupTable> groups;
  Segments edits;  // empty: every token is stored at its position

  friend bool operator==(const BlockTable&, const BlockTable&) = default;

  // Calls function(group, block) for every block.
  template <class Function>
  void ForEachBlock(Function function) const {
    for (uint32_t g = 0; g < groups.size(); ++g) {
      for (const BlockId id : groups[g].blocks) function(g, id);
    }
  }

  // The present order even when no edit is pending.
  Segments Order() const { return edits.empty() && tokens > 0 ? Segments{{0, tokens}} : edits; }
};

// Returns tokens [begin, end) of `order`.
inline Segments Slice(const Segments& order, uint32_t begin, uint32_t end) {
  Segments slice;
  uint32_t at = 0;
  for (const Segment& run : order) {
    const uint32_t from = std::max(begin, at), to = std::min(end, at + run.length);
    if (from < to) slice.push_back({run.source + (from - at), to - from});
    at += run.length;
  }
  return slice;
}

// Returns `a` followed by `b`, with runs that continue each other joined.
inline Segments Concatenate(Segments a, const Segments& b) {
  for (const Segment& run : b) {
    if (!a.empty() && a.back().source + a.back().length == run.source) {
      a.back().length += run.length;
    } else {
      a.push_back(run);
    }
  }
  return a;
}

// Returns the earliest position from which on every token is stored at `first_stored` or later.
inline uint32_t FirstRetained(const BlockTable& table, uint32_t first_stored) {
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

#endif  // SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_
