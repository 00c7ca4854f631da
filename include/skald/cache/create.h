// SPDX-License-Identifier: Apache-2.0
//
// Free factories: caches and pools are made from a layout and a RuntimeConfig, never by a model. Errors:
// kInvalidArgument, naming the member of RuntimeConfig that cannot work, or for a layout of no model;
// kResourceExhausted for memory that the system does not have.

#ifndef SKALD_CACHE_CREATE_H_
#define SKALD_CACHE_CREATE_H_

#include <memory>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/kv_cache.h"

namespace skald {

namespace internal {

// Refuses what no pool can be made for.
inline Result<void> CheckPoolSettings(const CacheLayout& layout, const RuntimeConfig& runtime) {
  if (auto valid = CheckRuntimeConfig(runtime); !valid) return valid;
  for (const CacheGroup& group : layout.groups()) {
    if (BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type).block_bytes() > 0) continue;
    return Fail(ErrorCode::kInvalidArgument, "the cache's layout has a layer that keeps nothing");
  }
  return {};
}

}  // namespace internal

// Returns storage for any number of conversations within runtime.cache_bytes.
inline Result<std::shared_ptr<BlockPool>> CreateBlockPool(const CacheLayout& layout,
                                                          const RuntimeConfig& runtime = {}) {
  return NoThrow("CreateBlockPool", [&]() -> Result<std::shared_ptr<BlockPool>> {
    if (auto valid = internal::CheckPoolSettings(layout, runtime); !valid) return Failure(valid.error());
    return std::make_shared<BlockPool>(layout, runtime);
  });
}

// Returns a pool that keeps account of blocks and has none of their bytes, for planning steps that another process
// carries out: its caches grow, fork and rewind as others do, but nothing can be computed, saved or loaded here. With
// the runtime of the pools that have the bytes, it fills up when they do.
inline Result<std::shared_ptr<BlockPool>> CreateLedgerPool(const CacheLayout& layout,
                                                           const RuntimeConfig& runtime = {}) {
  return NoThrow("CreateLedgerPool", [&]() -> Result<std::shared_ptr<BlockPool>> {
    if (auto valid = internal::CheckPoolSettings(layout, runtime); !valid) return Failure(valid.error());
    return std::make_shared<BlockPool>(layout, runtime, /*has_bytes=*/false);
  });
}

// Returns an empty conversation whose blocks come from `pool`, for the adapter of that digest (Adapter::digest), or for
// none.
inline Result<KVCache> CreateKVCache(std::shared_ptr<BlockPool> pool, const Sha256Digest& adapter = {}) {
  return NoThrow("CreateKVCache", [&]() -> Result<KVCache> {
    if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "CreateKVCache: the pool is null");
    return KVCache(CacheContents{.lease = TableLease(std::move(pool)), .adapter = adapter});
  });
}

// Returns an empty conversation with a pool of its own.
inline Result<KVCache> CreateKVCache(const CacheLayout& layout, const RuntimeConfig& runtime = {},
                                     const Sha256Digest& adapter = {}) {
  auto pool = CreateBlockPool(layout, runtime);
  if (!pool) return Failure(std::move(pool.error()));
  return CreateKVCache(std::move(*pool), adapter);
}

}  // namespace skald

#endif  // SKALD_CACHE_CREATE_H_
