// SPDX-License-Identifier: Apache-2.0
//
// BlockTable: which blocks, in which order, hold one sequence, for every group of its layout at once, so that all
// groups are always at the same position. Plain data without pointers: it can be copied, compared, recorded and sent.
// It owns nothing; TableLease (table_lease.h) ties a table to the references it holds.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_
#define SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_

#include <cstdint>
#include <vector>

namespace skald {

/// Number of a block within its group of a pool.
using BlockId = uint32_t;

/// No group has more blocks; from here on a step numbers blocks that it has not taken yet.
inline constexpr BlockId kMaxBlocks = BlockId{1} << 31;

/// The blocks of one group.
///
/// Attention: block i of a sequence holds positions [i * block_tokens, (i + 1) * block_tokens); the list begins with
/// the block of `first_token`. State of earlier tokens, out of every window, is released.
/// Recurrence: block i of the list is the state after first_token + i tokens; the last is the present one. There is
/// none for 0 tokens.
/// Replayed recurrence: the state after first_token tokens, the base, then the present one, unless the base is that.
/// There is no base for 0 tokens, and no present state after a rewind: the next step replays the inputs up to there.
/// Inputs: block i holds the inputs of the token at first_token + i to the layers; first_token is that of the states'
/// group.
struct GroupTable {
  uint32_t first_token = 0;     ///< of the first listed block: a position, or the tokens before its state
  std::vector<BlockId> blocks;  ///< ascending by position

  friend bool operator==(const GroupTable&, const GroupTable&) = default;
};

/// Whether a replayed group of a sequence of `tokens` tokens lists the present state.
bool HasPresentState(const GroupTable& states, uint32_t tokens);

/// A run of tokens that stays together: `length` tokens stored at positions [source, source + length).
struct Segment {
  uint32_t source = 0;  ///< position of its first token before the edits
  uint32_t length = 0;  ///< tokens

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Tokens in their present order, as runs of the positions they are stored at. Erasing and moving tokens edits this
/// list only; the next step carries it out in the blocks. Operations on it are free functions.
using Segments = std::vector<Segment>;

struct BlockTable {
  uint32_t tokens = 0;             ///< length of the sequence, edits included
  std::vector<GroupTable> groups;  ///< as CacheLayout::groups
  Segments edits;                  ///< empty: every token is stored at its position

  friend bool operator==(const BlockTable&, const BlockTable&) = default;

  /// Calls function(group, block) for every block.
  template <class Function>
  void ForEachBlock(Function function) const {
    for (uint32_t g = 0; g < groups.size(); ++g) {
      for (const BlockId id : groups[g].blocks) function(g, id);
    }
  }

  /// The present order even if no edit is pending.
  Segments Order() const { return edits.empty() && tokens > 0 ? Segments{{0, tokens}} : edits; }
};

/// Returns tokens [begin, end) of `order`.
Segments Slice(const Segments& order, uint32_t begin, uint32_t end);

/// Returns `a` followed by `b`, with runs that continue each other joined.
Segments Concatenate(Segments a, const Segments& b);

/// Returns the earliest position from which on every token is stored at `first_stored` or later.
uint32_t FirstRetained(const BlockTable& table, uint32_t first_stored);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/block_table.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_BLOCK_TABLE_H_
