// SPDX-License-Identifier: Apache-2.0
//
// Snapshots are of whole states: pools that hold one rank's part gather it before saving, and partition it when
// loading. So any number of ranks can load state saved with any other.

#ifndef SKALD_STORE_SNAPSHOTS_WHOLE_STATE_H_
#define SKALD_STORE_SNAPSHOTS_WHOLE_STATE_H_

#include <memory>

#include "skald/base/result.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald::internal {

/// Returns the layout of the saved state of a pool's conversations. Error: kUnsupported for a part whose peers are not
/// set.
Result<CacheLayout> WholeLayout(const BlockPool& pool);

/// Returns the result of `load(pool)` for a snapshot, a cache with the whole state, in `pool` or partitioned from it.
template <class Load>
Result<KVCache> LoadWhole(const std::shared_ptr<BlockPool>& pool, Load load) {
  if (pool->peers() == nullptr) return load(pool);
  RuntimeConfig runtime = pool->runtime();
  runtime.cache_bytes = kUnlimited;
  SKALD_ASSIGN(const auto room, CreateBlockPool(pool->peers()->whole(), runtime));
  SKALD_ASSIGN(const auto whole, load(room));
  return pool->peers()->Scatter(whole, pool);
}

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/whole_state.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_WHOLE_STATE_H_
