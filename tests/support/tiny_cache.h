// SPDX-License-Identifier: Apache-2.0
//
// Conversations without a model: caches of a small layout, whose blocks hold made-up bytes.
// For what is about storing caches, not computing them. Needs no test framework.

#ifndef SKALD_TESTS_SUPPORT_TINY_CACHE_H_
#define SKALD_TESTS_SUPPORT_TINY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/steps/step.h"
#include "skald/families/config/create.h"

namespace skald::testing {

// Full attention, a window of 40 tokens and, unless it should be possible to edit conversations, a recurrence; each in
// one layer.
inline CacheLayout TinyLayout(bool recurrent) {
  CacheLayout layout;
  layout.AddLayer({.kv_heads = 1, .head_dim = 8});
  layout.AddLayer({.kv_heads = 1, .head_dim = 8, .window = 40});
  if (recurrent) layout.AddLayer({.state_floats = 10});
  return layout;
}

// Appends tokens first, first + 1, ... and writes a pattern into all blocks of the cache. False where the pool is full.
inline bool GrowTiny(KVCache& cache, int32_t first, uint32_t count) {
  std::vector<int32_t> tokens(count);
  for (uint32_t i = 0; i < count; ++i) tokens[i] = first + static_cast<int32_t>(i);
  auto step = Step::Begin(Batch().Add(cache, tokens), 64);
  if (!step) return false;
  step->Commit();
  for (size_t g = 0; g < cache.table().groups.size(); ++g) {
    const std::vector<BlockId>& ids = cache.table().groups[g].blocks;
    const std::vector<std::byte*> blocks = cache.pool()->Resolve(g, ids);
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t at = 0; at < cache.pool()->geometry(g).block_bytes(); ++at) {
        blocks[i][at] = static_cast<std::byte>((at % 7) * (g + 1) + i);
      }
    }
  }
  return true;
}

// Whether a step of `cache` would find all that its tokens see. The plan is made and looked at, not carried out.
inline bool CanGoOn(KVCache& cache) {
  const std::vector<int32_t> tokens = {1, 2, 3};
  const auto step = Step::Begin(Batch().Add(cache, tokens), 2);
  if (!step) return step.error().code == ErrorCode::kResourceExhausted || step.error().code == ErrorCode::kOutOfRange;
  const BlockPool& pool = *cache.pool();
  const uint32_t block_tokens = pool.runtime().block_tokens, position = cache.size();
  const SequencePlan& plan = step->plan().sequences[0];
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const CacheGroup& group = pool.layout().groups()[g];
    const GroupTable& list = plan.groups[g];
    for (const BlockId id : list.blocks) {
      if (pool.references(g, id) == 0) return false;
    }
    if (group.is_recurrent()) {
      if (list.blocks.size() != (position > 0 ? 1u : 0u)) return false;
      continue;
    }
    const uint32_t end = position + plan.num_tokens;
    if (list.first_token > group.FirstVisible(position)) return false;
    if (list.blocks.size() != (end + block_tokens - 1) / block_tokens - list.first_token / block_tokens) return false;
  }
  return true;
}

// Whether a cache can go on from where it stands and from all its resume points.
inline bool IsUsable(const KVCache& cache) {
  const std::vector<ResumeRange> points = *cache.ResumePoints();
  for (const ResumeRange& range : points) {
    for (const uint32_t position : {range.first, range.last}) {
      KVCache fork = *cache.Fork();
      if (!fork.Truncate(position) || !CanGoOn(fork)) return false;
    }
  }
  KVCache fork = *cache.Fork();
  return CanGoOn(fork);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TINY_CACHE_H_
