// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/memory_model.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_MEMORY_MODEL_H_
#define SKALD_ENGINE_PLAN_DETAIL_MEMORY_MODEL_H_

#include "skald/engine/plan/memory_model.h"

#include <algorithm>
#include <cstddef>

#include "skald/base/inline.h"
#include "skald/cache/steps/sequence_planner.h"

namespace skald {

SKALD_INLINE MemoryModel MemoryModel::Of(const BlockPool& pool) {
  MemoryModel model;
  for (size_t g = 0; g < pool.layout().groups().size(); ++g) {
    model.groups.push_back(GroupOf(pool.layout().groups()[g], pool.geometry(g).block_bytes(), pool.runtime()));
  }
  return model;
}

SKALD_INLINE uint64_t MemoryModel::BytesFor(uint64_t tokens) const {
  return Sum([=](const Group& group) { return std::min(group.Blocks(tokens), group.most_held); });
}

SKALD_INLINE uint64_t MemoryModel::BytesTaken(uint64_t tokens, uint64_t rows) const {
  return Sum([=](const Group& group) {
    const uint64_t begun = group.Blocks(tokens + rows) - group.Blocks(tokens);
    return std::min(begun * group.taken_for_each, group.most_taken);
  });
}

SKALD_INLINE uint64_t MemoryModel::BytesToReach(uint64_t tokens) const {
  return Sum([=](const Group& group) { return std::min(group.Blocks(tokens), group.most_at_once); });
}

SKALD_INLINE uint32_t MemoryModel::TokensIn(uint64_t bytes, uint32_t most) const {
  uint32_t reached = 0, beyond = most + 1;
  while (reached + 1 < beyond) {
    const uint32_t middle = reached + (beyond - reached) / 2;
    (BytesToReach(middle) <= bytes ? reached : beyond) = middle;
  }
  return reached;
}

SKALD_INLINE MemoryModel::Group MemoryModel::GroupOf(const CacheGroup& group, uint64_t block_bytes,
                                                     const RuntimeConfig& runtime) {
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
uint64_t MemoryModel::Sum(BlocksOf blocks_of) const {
  uint64_t bytes = 0;
  for (const Group& group : groups) bytes += blocks_of(group) * group.block_bytes;
  return bytes;
}

SKALD_INLINE uint32_t CapacityOf(const BlockPool& pool) {
  const RuntimeConfig& runtime = pool.runtime();
  if (runtime.cache_bytes == kUnlimited) return runtime.max_tokens;
  return MemoryModel::Of(pool).TokensIn(runtime.cache_bytes, runtime.max_tokens);
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_MEMORY_MODEL_H_
