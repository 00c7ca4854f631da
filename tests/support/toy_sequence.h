// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a model, for tests of caches alone: it carries out a step's plan on real blocks, but the only state
// of a token is the token itself, written at its slot. Reading a cache back shows at once whether any operation lost,
// mixed up or leaked a token.

#ifndef SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_
#define SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <span>
#include <vector>

#include "skald/cache/create.h"
#include "skald/cache/step.h"

namespace skald::testing {

// A layout of one full-attention group and, if `window` is not 0, one sliding group.
inline CacheLayout ToyLayout(uint32_t window) {
  CacheLayout layout;
  layout.AddLayer({.kind = LayerKind::kFullAttention, .kv_heads = 1, .head_dim = 2});
  if (window != 0) {
    layout.AddLayer({.kind = LayerKind::kSlidingAttention, .kv_heads = 2, .head_dim = 4, .window = window});
  }
  return layout;
}

inline std::byte* ToySlot(BlockPool& pool, uint32_t group, BlockId id, uint32_t slot) {
  return pool.Resolve(group, {id})[0] + slot * sizeof(int32_t);
}

// Does to the pool's blocks what `step` plans for one sequence.
inline void RunToySequence(const SequencePlan& plan, std::span<const int32_t> tokens, BlockPool& pool) {
  const uint32_t block_tokens = pool.runtime().block_tokens;
  for (const BlockCopy& copy : plan.copies) {
    std::memcpy(ToySlot(pool, copy.group, copy.target, 0), ToySlot(pool, copy.group, copy.source, 0),
                pool.geometry(copy.group).block_bytes());
  }
  for (const TokenMove& move : plan.moves) {
    std::memcpy(ToySlot(pool, move.group, move.target, move.target_slot),
                ToySlot(pool, move.group, move.source, move.source_slot), move.count * sizeof(int32_t));
  }
  for (uint32_t g = 0; g < plan.groups.size(); ++g) {
    const GroupTable& group = plan.groups[g];
    for (uint32_t i = 0; i < tokens.size(); ++i) {
      const uint32_t position = plan.first_position + i;
      const BlockId id = group.blocks[position / block_tokens - group.first_token / block_tokens];
      std::memcpy(ToySlot(pool, g, id, position % block_tokens), &tokens[i], sizeof(int32_t));
    }
  }
}

// Appends `tokens` to each cache in one step; `commit` false abandons it after the blocks were written.
inline Result<void> ToyForward(std::span<const StepRequest> requests, uint32_t pass_tokens, bool commit = true) {
  auto step = Step::Begin(requests, pass_tokens);
  if (!step) return Failure(step.error());
  for (size_t s = 0; s < requests.size(); ++s) {
    RunToySequence(step->plan().sequences[s], requests[s].tokens, requests[s].cache->pool());
  }
  if (commit) step->Commit();
  return {};
}

inline Result<void> ToyForward(KVCache& cache, const std::vector<int32_t>& tokens, uint32_t pass_tokens = 16) {
  const StepRequest request{&cache, tokens};
  return ToyForward({&request, 1}, pass_tokens);
}

// Returns the state of group `g` that a token appended now would see: (position, token).
inline std::vector<std::pair<uint32_t, int32_t>> VisibleTokens(const KVCache& cache, uint32_t g) {
  const uint32_t block_tokens = cache.pool().runtime().block_tokens;
  const GroupTable& group = cache.table().groups[g];
  std::vector<std::pair<uint32_t, int32_t>> visible;
  uint32_t position = 0;
  for (const Segment& run : cache.table().Order()) {
    for (uint32_t stored = run.source; stored < run.source + run.length; ++stored, ++position) {
      if (position < cache.pool().layout().groups()[g].FirstVisible(cache.size())) continue;
      if (stored < group.first_token) return {};  // state that should be there is not
      const BlockId id = group.blocks[stored / block_tokens - group.first_token / block_tokens];
      int32_t token;
      std::memcpy(&token, ToySlot(cache.pool(), g, id, stored % block_tokens), sizeof(token));
      visible.push_back({position, token});
    }
  }
  return visible;
}

// True when every group shows exactly the tokens that the cache says it holds.
inline bool HoldsItsTokens(const KVCache& cache) {
  for (uint32_t g = 0; g < cache.table().groups.size(); ++g) {
    std::vector<std::pair<uint32_t, int32_t>> expected;
    for (uint32_t p = cache.pool().layout().groups()[g].FirstVisible(cache.size()); p < cache.size(); ++p) {
      expected.push_back({p, cache.tokens()[p]});
    }
    if (VisibleTokens(cache, g) != expected) return false;
  }
  return true;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_
