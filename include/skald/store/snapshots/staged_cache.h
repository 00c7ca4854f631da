// SPDX-License-Identifier: Apache-2.0
//
// Conversations on their way between a pool and a store: whole states in memory outside the pool, within a limit, so
// that neither side has to wait for the other.

#ifndef SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_
#define SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"

namespace skald {

/// The limit of their bytes. Safe for concurrent calls.
class StagingRoom {
 public:
  /// Room for copies of at most `limit_bytes` bytes together.
  explicit StagingRoom(uint64_t limit_bytes) : limit_(limit_bytes) {}

  /// Returns a pool for the whole state of a conversation of `pool`'s, partitioned or not; no larger than what is left.
  /// Errors: those of CreateBlockPool.
  Result<std::shared_ptr<BlockPool>> MakePool(const BlockPool& pool) const;

 private:
  friend class StagedCache;

  const uint64_t limit_;
  std::atomic<uint64_t> held_ = 0;
};

/// A conversation in such memory, which is counted while this object lives. Move-only.
class StagedCache {
 public:
  /// `cache` has a pool of its own.
  StagedCache(KVCache cache, std::shared_ptr<StagingRoom> room);
  StagedCache(StagedCache&&) noexcept = default;
  StagedCache& operator=(StagedCache&&) = delete;
  ~StagedCache();

  /// Copies `cache`, which must be valid. Errors: kResourceExhausted if there is no room; those of peers that have
  /// parts of it.
  static Result<StagedCache> CopyOf(const KVCache& cache, std::shared_ptr<StagingRoom> room);

  /// Valid as long as this; its pool is the copy's own.
  const KVCache& cache() const { return cache_; }

  /// Returns the conversation in blocks of `pool`. Errors: the pool's, and those of peers.
  Result<KVCache> CopyTo(const std::shared_ptr<BlockPool>& pool) const;

 private:
  KVCache cache_;
  std::shared_ptr<StagingRoom> room_;  ///< null: moved from
  uint64_t bytes_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/staged_cache.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_STAGED_CACHE_H_
