// SPDX-License-Identifier: Apache-2.0
//
// MemoryModel: how many bytes of a pool a conversation takes, as plain numbers that a scheduler can decide by: what it
// holds between steps, what a step takes besides, and what it cannot do without. It is the one account of what
// SequencePlanner (cache/steps/) asks the pool for: an engine's capacity, its schedules and the law in
// tests/engine/memory_model_test.cc are made of it. Resume points are left out, because they yield to tokens; so are
// blocks that conversations share. The pool has the last word.

#ifndef SKALD_ENGINE_PLAN_MEMORY_MODEL_H_
#define SKALD_ENGINE_PLAN_MEMORY_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/steps/sequence_planner.h"

namespace skald {

struct MemoryModel {
  struct Group {
    uint64_t block_bytes;
    uint32_t block_tokens;               // 1 where a block is a state, or what one token gives to it
    uint64_t most_held = kUnlimited;     // blocks between steps
    uint64_t most_taken = kUnlimited;    // new blocks in a step
    uint64_t most_at_once = kUnlimited;  // blocks in a step of one token: those held before, and the new ones
    uint64_t taken_for_each = 1;         // new blocks in a step for each block that is filled or begun

    uint64_t Blocks(uint64_t tokens) const { return (tokens + block_tokens - 1) / block_tokens; }
  };
  std::vector<Group> groups;

  static MemoryModel Of(const BlockPool& pool) {
    MemoryModel model;
    for (size_t g = 0; g < pool.layout().groups().size(); ++g) {
      model.groups.push_back(GroupOf(pool.layout().groups()[g], pool.geometry(g).block_bytes(), pool.runtime()));
    }
    return model;
  }

  // The most that a conversation of `tokens` tokens holds between steps.
  uint64_t BytesFor(uint64_t tokens) const {
    return Sum([=](const Group& group) { return std::min(group.Blocks(tokens), group.most_held); });
  }

  // The most that a step takes which computes `rows` tokens behind `tokens`. What they replace goes when it is done.
  uint64_t BytesTaken(uint64_t tokens, uint64_t rows) const {
    return Sum([=](const Group& group) {
      const uint64_t begun = group.Blocks(tokens + rows) - group.Blocks(tokens);
      return std::min(begun * group.taken_for_each, group.most_taken);
    });
  }

  // What a pool needs for a conversation to reach `tokens` tokens, however its steps were divided, as long as a step
  // that does not fit is made shorter.
  uint64_t BytesToReach(uint64_t tokens) const {
    return Sum([=](const Group& group) { return std::min(group.Blocks(tokens), group.most_at_once); });
  }

  // The most tokens, up to `most`, that a conversation reaches in a pool of `bytes`.
  uint32_t TokensIn(uint64_t bytes, uint32_t most) const {
    uint32_t reached = 0, beyond = most + 1;
    while (reached + 1 < beyond) {
      const uint32_t middle = reached + (beyond - reached) / 2;
      (BytesToReach(middle) <= bytes ? reached : beyond) = middle;
    }
    return reached;
  }

 private:
  static Group GroupOf(const CacheGroup& group, uint64_t block_bytes, const RuntimeConfig& runtime) {
    const uint64_t rewind = runtime.rewind_tokens;
    // Each step writes the state at its end anew, and those that a rewind may land at.
    if (group.is_replayed()) {
      if (rewind == 0) return {block_bytes, 1, 1, 1, 2};
      // The base and the present state; where the base moves, both are written anew.
      return {block_bytes, 1, 2, 2, 4, 2};
    }
    if (group.is_recurrent()) return {block_bytes, 1, rewind + 1, rewind + 1, rewind + 2};
    if (group.is_inputs()) {
      const uint64_t most = kMostInputs * rewind;
      return {block_bytes, 1, most, most, most > 0 ? most + 1 : 0};
    }
    const uint32_t block_tokens = runtime.block_tokens;
    if (group.window == 0) return {block_bytes, block_tokens};
    // So many tokens in a row lie in as many blocks where the first of them is the last of its block.
    const auto touched = [=](uint64_t tokens) { return (tokens + block_tokens - 2) / block_tokens + 1; };
    const uint64_t visible = group.window + rewind;
    return {block_bytes, block_tokens, touched(std::max<uint64_t>(visible - 1, 1)), kUnlimited, touched(visible)};
  }

  template <class BlocksOf>
  uint64_t Sum(BlocksOf blocks_of) const {
    uint64_t bytes = 0;
    for (const Group& group : groups) bytes += blocks_of(group) * group.block_bytes;
    return bytes;
  }
};

// How many tokens a conversation may have that has `pool` to itself: what an engine refuses a request for at once,
// rather than in the middle of its answer.
inline uint32_t CapacityOf(const BlockPool& pool) {
  const RuntimeConfig& runtime = pool.runtime();
  if (runtime.cache_bytes == kUnlimited) return runtime.max_tokens;
  return MemoryModel::Of(pool).TokensIn(runtime.cache_bytes, runtime.max_tokens);
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_MEMORY_MODEL_H_
