// SPDX-License-Identifier: Apache-2.0
//
// Capacity: how many tokens a conversation may have that has a pool to itself: what an engine refuses a request for at
// once, rather than in the middle of its answer. Worked out on a pool without bytes.

#ifndef SKALD_ENGINE_RUNNING_CAPACITY_H_
#define SKALD_ENGINE_RUNNING_CAPACITY_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/sequence_planner.h"
#include "skald/cache/steps/step.h"

namespace skald {

// However its steps were divided, such a conversation can go on: it is let grow by single tokens at first, and over the
// border of every block, where a step needs most besides what is there, or where the base of a replayed group moves.
// Errors: those of CreateLedgerPool.
inline Result<uint32_t> CapacityOf(const BlockPool& pool) {
  const RuntimeConfig& runtime = pool.runtime();
  if (runtime.cache_bytes == kUnlimited) return runtime.max_tokens;
  auto ledger = CreateLedgerPool(pool.layout(), runtime);
  if (!ledger) return Failure(ledger.error());
  auto cache = CreateKVCache(*ledger);
  if (!cache) return Failure(cache.error());
  constexpr uint32_t kSingles = 2;  // to both sides of a border
  const bool replays = std::ranges::any_of(pool.layout().groups(), &CacheGroup::is_replayed);
  const uint64_t kept = runtime.rewind_tokens * (replays ? kMostInputs : 1);
  const std::vector<int32_t> tokens(runtime.block_tokens);
  // Until all states that rewinding keeps are there, each further one needs more.
  const uint64_t growing = kept + 2 * kSingles, behind = kSingles + (replays ? kept : 0);
  while (cache->size() < runtime.max_tokens) {
    const uint32_t in_block = cache->size() % runtime.block_tokens;
    const bool is_inside = in_block >= behind && in_block + kSingles < runtime.block_tokens;
    const uint32_t rows = cache->size() > growing && is_inside ? runtime.block_tokens - kSingles - in_block : 1;
    const uint32_t fitting = std::min(rows, runtime.max_tokens - cache->size());
    auto step = Step::Begin(Batch().Add(*cache, std::span(tokens).first(fitting)), fitting);
    if (!step && fitting > 1) step = Step::Begin(Batch().Add(*cache, std::span(tokens).first(1)), 1);
    if (!step) break;
    step->Commit();
  }
  return cache->size();
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_CAPACITY_H_
