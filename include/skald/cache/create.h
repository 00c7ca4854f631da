// SPDX-License-Identifier: Apache-2.0
//
// Factories: caches and pools are made from a layout and a RuntimeConfig, never by a model. Errors: kInvalidArgument,
// naming the invalid member of RuntimeConfig, or for a layout of no model; kResourceExhausted if memory runs out.

#ifndef SKALD_CACHE_CREATE_H_
#define SKALD_CACHE_CREATE_H_

#include <memory>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

/// Returns storage for any number of conversations within runtime.cache_bytes.
Result<std::shared_ptr<BlockPool>> CreateBlockPool(const CacheLayout& layout, const RuntimeConfig& runtime = {});

/// Returns a pool that keeps account of blocks without their bytes, for planning steps that another process carries
/// out: its caches grow, fork and rewind as others do, but nothing can be computed, saved or loaded here. With the same
/// runtime as the pools that have the bytes, it fills up when they do.
Result<std::shared_ptr<BlockPool>> CreateLedgerPool(const CacheLayout& layout, const RuntimeConfig& runtime = {});

/// Returns an empty conversation whose blocks come from `pool`, for the adapter with that digest (Adapter::digest);
/// zeros mean none.
Result<KVCache> CreateKVCache(std::shared_ptr<BlockPool> pool, const Sha256Digest& adapter = {});

/// Returns an empty conversation with a pool of its own.
Result<KVCache> CreateKVCache(const CacheLayout& layout, const RuntimeConfig& runtime = {},
                              const Sha256Digest& adapter = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/detail/create.h"
#endif

#endif  // SKALD_CACHE_CREATE_H_
