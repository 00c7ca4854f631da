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
#include "skald/cache/steps/step.h"

namespace skald {

// Steps have at most `step_tokens` tokens. Errors: those of CreateLedgerPool.
inline Result<uint32_t> CapacityOf(const BlockPool& pool, uint32_t step_tokens) {
  const RuntimeConfig& runtime = pool.runtime();
  if (runtime.cache_bytes == kUnlimited) return runtime.max_tokens;
  auto ledger = CreateLedgerPool(pool.layout(), runtime);
  if (!ledger) return Failure(ledger.error());
  auto cache = CreateKVCache(*ledger);
  if (!cache) return Failure(cache.error());
  const std::vector<int32_t> tokens(step_tokens);
  for (uint32_t rows = step_tokens; rows > 0;) {
    rows = std::min(rows, runtime.max_tokens - cache->size());
    if (rows == 0) break;
    auto step = Step::Begin(Batch().Add(*cache, std::span(tokens).first(rows)), step_tokens);
    if (step) {
      step->Commit();
    } else {
      rows /= 2;  // a shorter step needs less besides what it leaves
    }
  }
  return cache->size();
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_CAPACITY_H_
