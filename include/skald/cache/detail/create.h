// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/create.h.

#ifndef SKALD_CACHE_DETAIL_CREATE_H_
#define SKALD_CACHE_DETAIL_CREATE_H_

#include "skald/cache/create.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/blocks/table_lease.h"

namespace skald {

namespace internal {

// Refuses settings for which no pool can be made.
inline Result<void> CheckPoolSettings(const CacheLayout& layout, const RuntimeConfig& runtime) {
  SKALD_TRY(CheckRuntimeConfig(runtime));
  for (const CacheGroup& group : layout.groups()) {
    if (BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type).block_bytes() > 0) continue;
    return Fail(ErrorCode::kInvalidArgument, "the cache's layout has a layer that keeps no state");
  }
  return {};
}

}  // namespace internal

SKALD_INLINE Result<std::shared_ptr<BlockPool>> CreateBlockPool(const CacheLayout& layout,
                                                                const RuntimeConfig& runtime) {
  return NoThrow("CreateBlockPool", [&]() -> Result<std::shared_ptr<BlockPool>> {
    SKALD_TRY(internal::CheckPoolSettings(layout, runtime));
    return std::make_shared<BlockPool>(layout, runtime);
  });
}

SKALD_INLINE Result<std::shared_ptr<BlockPool>> CreateLedgerPool(const CacheLayout& layout,
                                                                 const RuntimeConfig& runtime) {
  return NoThrow("CreateLedgerPool", [&]() -> Result<std::shared_ptr<BlockPool>> {
    SKALD_TRY(internal::CheckPoolSettings(layout, runtime));
    return std::make_shared<BlockPool>(layout, runtime, /*has_bytes=*/false);
  });
}

SKALD_INLINE Result<KVCache> CreateKVCache(std::shared_ptr<BlockPool> pool, const Sha256Digest& adapter) {
  return NoThrow("CreateKVCache", [&]() -> Result<KVCache> {
    if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "CreateKVCache: the pool is null");
    return KVCache(CacheContents{.lease = TableLease(std::move(pool)), .adapter = adapter});
  });
}

SKALD_INLINE Result<KVCache> CreateKVCache(const CacheLayout& layout, const RuntimeConfig& runtime,
                                           const Sha256Digest& adapter) {
  SKALD_ASSIGN(auto pool, CreateBlockPool(layout, runtime));
  return CreateKVCache(std::move(pool), adapter);
}

}  // namespace skald

#endif  // SKALD_CACHE_DETAIL_CREATE_H_
