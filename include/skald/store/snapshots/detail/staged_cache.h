// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/staged_cache.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_STAGED_CACHE_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_STAGED_CACHE_H_

#include "skald/store/snapshots/staged_cache.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/rebuild.h"
#include "skald/store/snapshots/whole_state.h"

namespace skald {

SKALD_INLINE Result<std::shared_ptr<BlockPool>> StagingRoom::MakePool(const BlockPool& pool) const {
  SKALD_ASSIGN(const auto layout, internal::WholeLayout(pool));
  RuntimeConfig runtime = pool.runtime();
  runtime.cache_bytes = limit_ - std::min<uint64_t>(limit_, held_);
  return CreateBlockPool(layout, runtime);
}

SKALD_INLINE StagedCache::StagedCache(KVCache cache, std::shared_ptr<StagingRoom> room)
    : cache_(std::move(cache)), room_(std::move(room)), bytes_(cache_.pool()->usage().used_bytes) {
  room_->held_ += bytes_;
}

SKALD_INLINE StagedCache::~StagedCache() {
  if (room_ != nullptr) room_->held_ -= bytes_;
}

SKALD_INLINE Result<StagedCache> StagedCache::CopyOf(const KVCache& cache, std::shared_ptr<StagingRoom> room) {
  SKALD_ASSIGN(const auto pool, room->MakePool(*cache.pool()));
  BlockPeers* const peers = cache.pool()->peers().get();
  SKALD_ASSIGN(auto copy, peers != nullptr ? peers->Gather(cache) : CopyCache(cache, pool));
  const PoolUsage used = copy.pool()->usage(), left = pool->usage();
  if (used.used_bytes > left.limit_bytes) return BlockPool::FailFull(0, left.limit_bytes, used.used_bytes);
  return StagedCache(std::move(copy), std::move(room));
}

SKALD_INLINE Result<KVCache> StagedCache::CopyTo(const std::shared_ptr<BlockPool>& pool) const {
  return pool->peers() != nullptr ? pool->peers()->Scatter(cache_, pool) : CopyCache(cache_, pool);
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_STAGED_CACHE_H_
