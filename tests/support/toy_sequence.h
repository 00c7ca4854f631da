// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a model, for tests of caches alone: it carries out a step's plan on real blocks, but the only state
// of a token is the token itself, written at its slot, and a recurrent layer's state is a hash of all tokens so far,
// whose inputs are tokens.
// Reading a cache back shows at once whether any operation lost, mixed up or leaked a token.

#ifndef SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_
#define SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/cache/steps/step.h"
#include "skald/families/config/create.h"

namespace skald::testing {

// A layout of one full-attention group, if `window` is not 0 one sliding group, and if asked one recurrent group and
// one that is replayed.
inline CacheLayout ToyLayout(uint32_t window, bool recurrent = false, bool replayed = false) {
  CacheLayout layout;
  layout.AddLayer({.kv_heads = 1, .head_dim = 2});
  if (window != 0) {
    layout.AddLayer({.kv_heads = 2, .head_dim = 4, .window = window});
  }
  if (replayed) layout.AddLayer({.state_floats = 7, .input_floats = 1});
  if (recurrent) layout.AddLayer({.state_floats = 5});
  return layout;
}

// The state of the toy's recurrent layer after `tokens` (FNV-1a).
inline uint64_t ToyState(std::span<const int32_t> tokens, uint64_t state = 0xCBF29CE484222325u) {
  for (const int32_t token : tokens) state = (state ^ static_cast<uint32_t>(token)) * 0x100000001B3u;
  return state;
}

inline uint64_t ReadToyState(BlockPool& pool, uint32_t group, BlockId id) {
  uint64_t state;
  std::memcpy(&state, pool.Resolve(group, {id})[0], sizeof(state));
  return state;
}

inline std::byte* ToySlot(BlockPool& pool, uint32_t group, BlockId id, uint32_t slot) {
  return pool.Resolve(group, {id})[0] + slot * sizeof(int32_t);
}

inline int32_t ReadToyInput(BlockPool& pool, uint32_t group, BlockId id) {
  int32_t token;
  std::memcpy(&token, ToySlot(pool, group, id, 0), sizeof(token));
  return token;
}

// The content of a recurrent group before the step; of a replayed one perhaps replayed first, up to `tokens` tokens.
inline uint64_t ToyStateBefore(const SequencePlan& plan, uint32_t group, uint32_t tokens, BlockPool& pool) {
  const GroupTable& states = plan.groups[group];
  if (states.blocks.empty() && states.first_token == tokens) return ToyState({});
  const CacheGroup& kind = pool.layout().groups()[group];
  if (!kind.is_replayed() || (tokens == plan.first_position && HasPresentState(states, tokens))) {
    return ReadToyState(pool, group, states.blocks.back());
  }
  const uint32_t inputs = pool.layout().InputsOf(group);
  uint64_t state = states.first_token > 0 ? ReadToyState(pool, group, states.blocks.front()) : ToyState({});
  for (uint32_t i = 0; i < tokens - states.first_token; ++i) {
    const int32_t token = ReadToyInput(pool, inputs, plan.groups[inputs].blocks[i]);
    state = ToyState({&token, 1}, state);
  }
  return state;
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
  for (const StateSave& save : plan.saves) {
    std::byte* const block = pool.Resolve(save.group, {save.block})[0];
    if (pool.layout().groups()[save.group].is_inputs()) {
      std::memcpy(block, &tokens[save.tokens - 1 - plan.first_position], sizeof(int32_t));
      continue;
    }
    const uint32_t begin = std::min(save.tokens, plan.first_position);
    const uint64_t state = ToyState(tokens.first(save.tokens - begin), ToyStateBefore(plan, save.group, begin, pool));
    std::memcpy(block, &state, sizeof(state));
  }
  for (uint32_t g = 0; g < plan.groups.size(); ++g) {
    if (!pool.layout().groups()[g].is_attention()) continue;
    const GroupTable& group = plan.groups[g];
    for (uint32_t i = 0; i < tokens.size(); ++i) {
      const uint32_t position = plan.first_position + i;
      const BlockId id = group.blocks[position / block_tokens - group.first_token / block_tokens];
      std::memcpy(ToySlot(pool, g, id, position % block_tokens), &tokens[i], sizeof(int32_t));
    }
  }
}

// Appends `tokens` to each cache in one step; `commit` false abandons it after the blocks were written.
inline Result<void> ToyForward(const Batch& batch, uint32_t pass_tokens, bool commit = true) {
  auto step = Step::Begin(batch, pass_tokens);
  if (!step) return Failure(step.error());
  for (size_t s = 0; s < batch.requests().size(); ++s) {
    const StepRequest& request = batch.requests()[s];
    RunToySequence(step->plan().sequences[s], request.tokens, *request.cache->pool());
  }
  if (commit) step->Commit();
  return {};
}

inline Result<void> ToyForward(KVCache& cache, const std::vector<int32_t>& tokens, uint32_t pass_tokens = 16) {
  return ToyForward(Batch().Add(cache, tokens), pass_tokens);
}

// Returns the state of group `g` that a token appended now would see: (position, token).
inline std::vector<std::pair<uint32_t, int32_t>> VisibleTokens(const KVCache& cache, uint32_t g) {
  const uint32_t block_tokens = cache.pool()->runtime().block_tokens;
  const GroupTable& group = cache.table().groups[g];
  std::vector<std::pair<uint32_t, int32_t>> visible;
  uint32_t position = 0;
  for (const Segment& run : cache.table().Order()) {
    for (uint32_t stored = run.source; stored < run.source + run.length; ++stored, ++position) {
      if (position < cache.pool()->layout().groups()[g].FirstVisible(cache.size())) continue;
      if (stored < group.first_token) return {};  // state that should be there is not
      const BlockId id = group.blocks[stored / block_tokens - group.first_token / block_tokens];
      int32_t token;
      std::memcpy(&token, ToySlot(*cache.pool(), g, id, stored % block_tokens), sizeof(token));
      visible.push_back({position, token});
    }
  }
  return visible;
}

// True if every state of recurrent group `g` is that of its tokens, up to the last one.
inline bool RemembersItsTokens(const KVCache& cache, uint32_t g) {
  const GroupTable& group = cache.table().groups[g];
  if (cache.size() == 0) return group.blocks.empty();
  if (group.first_token == 0 || group.first_token + group.blocks.size() != cache.size() + 1) return false;
  for (size_t i = 0; i < group.blocks.size(); ++i) {
    const uint64_t expected = ToyState(cache.tokens().first(group.first_token + i));
    if (ReadToyState(*cache.pool(), g, group.blocks[i]) != expected) return false;
  }
  return true;
}

// True if the states of replayed group `g`, and the inputs after the base, are those of their tokens.
inline bool CanReplayItsTokens(const KVCache& cache, uint32_t g) {
  const uint32_t number = cache.pool()->layout().InputsOf(g);
  const GroupTable &states = cache.table().groups[g], &inputs = cache.table().groups[number];
  const auto is_state = [&](BlockId id, uint32_t tokens) {
    return ReadToyState(*cache.pool(), g, id) == ToyState(cache.tokens().first(tokens));
  };
  if (cache.size() == 0) return states.blocks.empty() && inputs.blocks.empty();
  if (states.first_token > 0 && !is_state(states.blocks.front(), states.first_token)) return false;
  if (HasPresentState(states, cache.size()) && !is_state(states.blocks.back(), cache.size())) return false;
  if (inputs.first_token != states.first_token || inputs.blocks.size() != cache.size() - inputs.first_token)
    return false;
  for (size_t i = 0; i < inputs.blocks.size(); ++i) {
    const int32_t token = ReadToyInput(*cache.pool(), number, inputs.blocks[i]);
    if (token != cache.tokens()[inputs.first_token + i]) return false;
  }
  return true;
}

// True when every group shows exactly the tokens that the cache says it holds.
inline bool HoldsItsTokens(const KVCache& cache) {
  for (uint32_t g = 0; g < cache.table().groups.size(); ++g) {
    const CacheGroup& kind = cache.pool()->layout().groups()[g];
    if (!kind.is_attention()) {
      if (kind.is_replayed() && !CanReplayItsTokens(cache, g)) return false;
      if (kind.is_recurrent() && !kind.is_replayed() && !RemembersItsTokens(cache, g)) return false;
      continue;
    }
    std::vector<std::pair<uint32_t, int32_t>> expected;
    for (uint32_t p = cache.pool()->layout().groups()[g].FirstVisible(cache.size()); p < cache.size(); ++p) {
      expected.push_back({p, cache.tokens()[p]});
    }
    if (VisibleTokens(cache, g) != expected) return false;
  }
  return true;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TOY_SEQUENCE_H_
