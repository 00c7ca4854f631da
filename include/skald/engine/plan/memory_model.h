// SPDX-License-Identifier: Apache-2.0
//
// MemoryModel: about how many bytes of a pool conversations of so many tokens take, as plain numbers that a scheduler
// can decide by. The pool itself has the last word.

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
    uint32_t block_tokens;  // 1 where a block is a state
    uint64_t most_blocks;   // of windows and states; kUnlimited of full attention
  };
  std::vector<Group> groups;

  static MemoryModel Of(const BlockPool& pool) {
    MemoryModel model;
    const RuntimeConfig& runtime = pool.runtime();
    const uint64_t resume_points = runtime.checkpoint_every > 0 ? runtime.max_checkpoints : 0;
    for (size_t g = 0; g < pool.layout().groups().size(); ++g) {
      const CacheGroup& group = pool.layout().groups()[g];
      Group sizes = {pool.geometry(g).block_bytes(), runtime.block_tokens, kUnlimited};
      if (group.is_replayed()) {
        // The base, the state that a step begins with, and one for each that it leaves.
        sizes = {sizes.block_bytes, 1, resume_points + (runtime.rewind_tokens > 0 ? 4 : 2)};
      } else if (group.is_inputs()) {
        sizes = {sizes.block_bytes, 1, 2 * kMostInputs * runtime.rewind_tokens};
      } else if (group.is_recurrent()) {
        // The state that a step begins with, and those that it leaves.
        sizes = {sizes.block_bytes, 1, uint64_t{runtime.rewind_tokens} + resume_points + 2};
      } else if (group.window > 0) {
        const uint64_t visible = uint64_t{group.window} + runtime.rewind_tokens;
        sizes.most_blocks = (visible / runtime.block_tokens + 2) * (1 + resume_points);
      }
      model.groups.push_back(sizes);
    }
    return model;
  }

  // Of a conversation of `tokens` tokens.
  uint64_t BytesFor(uint64_t tokens) const {
    uint64_t bytes = 0;
    for (const Group& group : groups) {
      const uint64_t blocks = (tokens + group.block_tokens - 1) / group.block_tokens;
      bytes += std::min(blocks, group.most_blocks) * group.block_bytes;
    }
    return bytes;
  }

  // That are taken when `rows` tokens follow on `tokens`.
  uint64_t Growth(uint64_t tokens, uint64_t rows) const { return BytesFor(tokens + rows) - BytesFor(tokens); }
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_MEMORY_MODEL_H_
