// SPDX-License-Identifier: Apache-2.0
//
// Conversations on their way between a pool and a store: whole states in memory beside the pool, within a limit, so
// that neither side has to wait for the other.

#ifndef SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_
#define SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "skald/base/result.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/rebuild.h"
#include "skald/store/snapshots/whole_state.h"

namespace skald {

// How many bytes there may be. Safe for concurrent calls.
class StagingRoom {
 public:
  explicit StagingRoom(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Returns a pool for a conversation of `pool`'s, for its whole state, whoever computes it; no larger than what is
  // left. Errors: those of CreateBlockPool.
  Result<std::shared_ptr<BlockPool>> MakePool(const BlockPool& pool) const {
    const auto layout = internal::WholeLayout(pool);
    if (!layout) return Failure(layout.error());
    RuntimeConfig runtime = pool.runtime();
    runtime.cache_bytes = limit_ - std::min<uint64_t>(limit_, held_);
    return CreateBlockPool(*layout, runtime);
  }

 private:
  friend class StagedCache;

  const uint64_t limit_;
  std::atomic<uint64_t> held_ = 0;
};

// A conversation in such memory, for which it is counted while this lives. Move-only.
class StagedCache {
 public:
  // `cache` has a pool of its own.
  StagedCache(KVCache cache, std::shared_ptr<StagingRoom> room)
      : cache_(std::move(cache)), room_(std::move(room)), bytes_(cache_.pool()->usage().used_bytes) {
    room_->held_ += bytes_;
  }
  StagedCache(StagedCache&&) noexcept = default;
  StagedCache& operator=(StagedCache&&) = delete;
  ~StagedCache() {
    if (room_ != nullptr) room_->held_ -= bytes_;
  }

  // Copies `cache`, which must be valid. Errors: kResourceExhausted where there is no room; those of peers that have
  // parts of it.
  static Result<StagedCache> CopyOf(const KVCache& cache, std::shared_ptr<StagingRoom> room) {
    const auto pool = room->MakePool(*cache.pool());
    if (!pool) return Failure(pool.error());
    BlockPeers* const peers = cache.pool()->peers().get();
    auto copy = peers != nullptr ? peers->Gather(cache) : CopyCache(cache, *pool);
    if (!copy) return Failure(copy.error());
    const PoolUsage used = copy->pool()->usage(), left = (*pool)->usage();
    if (used.used_bytes > left.limit_bytes) return BlockPool::FailFull(0, left.limit_bytes, used.used_bytes);
    return StagedCache(std::move(*copy), std::move(room));
  }

  const KVCache& cache() const { return cache_; }

  // Returns it in blocks of `pool`. Errors: the pool's, and those of peers.
  Result<KVCache> CopyTo(const std::shared_ptr<BlockPool>& pool) const {
    return pool->peers() != nullptr ? pool->peers()->Scatter(cache_, pool) : CopyCache(cache_, pool);
  }

 private:
  KVCache cache_;
  std::shared_ptr<StagingRoom> room_;  // null: moved from
  uint64_t bytes_;
};

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_
