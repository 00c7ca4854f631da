// SPDX-License-Identifier: Apache-2.0
//
// MemoryModel: how many bytes of a pool a conversation takes, as plain numbers that a scheduler can decide by: what it
// holds between steps, what a step takes besides, and what it cannot do without. It is the one account of what
// SequencePlanner (cache/steps/) asks the pool for: an engine's capacity, its schedules and the law in
// tests/engine/memory_model_test.cc are made of it. Resume points are left out, because they yield to tokens; so are
// blocks that conversations share. The pool has the last word.

#ifndef SKALD_ENGINE_PLAN_MEMORY_MODEL_H_
#define SKALD_ENGINE_PLAN_MEMORY_MODEL_H_

#include <cstdint>
#include <vector>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

struct MemoryModel {
  /// Blocks of one group of the cache's layers (CacheGroup).
  struct Group {
    uint64_t block_bytes;                ///< bytes of one block
    uint32_t block_tokens;               ///< 1 where a block is a state, or what one token gives to it
    uint64_t most_held = kUnlimited;     ///< blocks between steps
    uint64_t most_taken = kUnlimited;    ///< new blocks in a step
    uint64_t most_at_once = kUnlimited;  ///< blocks in a step of one token: those held before, and the new ones
    uint64_t taken_for_each = 1;         ///< new blocks in a step for each block that is filled or begun

    /// Blocks that hold `tokens` tokens.
    uint64_t Blocks(uint64_t tokens) const { return (tokens + block_tokens - 1) / block_tokens; }
  };
  std::vector<Group> groups;  ///< as CacheLayout::groups

  /// The numbers of a pool's layout and block sizes. The pool is read once, not kept.
  static MemoryModel Of(const BlockPool& pool);

  /// The most that a conversation of `tokens` tokens holds between steps.
  uint64_t BytesFor(uint64_t tokens) const;

  /// The most memory of a step that computes `rows` tokens after `tokens`. Replaced blocks are freed when it is done.
  uint64_t BytesTaken(uint64_t tokens, uint64_t rows) const;

  /// The memory that a pool needs for a conversation to reach `tokens` tokens, for any division into steps, if a step
  /// that does not fit is made shorter.
  uint64_t BytesToReach(uint64_t tokens) const;

  /// The most tokens, up to `most`, that a conversation reaches in a pool of `bytes`.
  uint32_t TokensIn(uint64_t bytes, uint32_t most) const;

 private:
  static Group GroupOf(const CacheGroup& group, uint64_t block_bytes, const RuntimeConfig& runtime);

  template <class BlocksOf>
  uint64_t Sum(BlocksOf blocks_of) const;
};

/// How many tokens a conversation may have that has `pool` to itself: what an engine refuses a request for at once,
/// rather than in the middle of its answer.
uint32_t CapacityOf(const BlockPool& pool);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/memory_model.h"
#endif

#endif  // SKALD_ENGINE_PLAN_MEMORY_MODEL_H_
