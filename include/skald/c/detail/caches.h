// SPDX-License-Identifier: Apache-2.0
//
// The C interface: pools, caches and snapshots.

#ifndef SKALD_C_DETAIL_CACHES_H_
#define SKALD_C_DETAIL_CACHES_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "skald/base/inline.h"
#include "skald/c/detail/handles.h"
#include "skald/c/detail/types.h"
#include "skald/c/skald.h"
#include "skald/cache/create.h"
#include "skald/open/saved_conversation.h"
#include "skald/store/snapshots/snapshot.h"

namespace skald::internal {

// Reads the model's files when it is asked for the first time.
inline Result<Identity> IdentityOf(SharedModel& shared) {
  const std::lock_guard lock(shared.mutex);
  if (!shared.identity) {
    const LanguageModel& model = shared.model;
    SKALD_ASSIGN(shared.identity, IdentityOfModel(model.info.model, model.model.weights().dtype));
  }
  return *shared.identity;
}

// Runs `change` on a valid handle of a cache.
template <class Change>
skald_code ChangeCache(const char* call, skald_cache* cache, skald_error* error, Change change) {
  return Call(call, error, [&]() -> Result<void> {
    SKALD_TRY(Need(call, cache));
    return change(cache->cache);
  });
}

}  // namespace skald::internal

SKALD_INLINE void skald_runtime_init(skald_runtime* runtime) {
  if (runtime != nullptr) *runtime = skald::internal::RuntimeDefaults();
}

SKALD_INLINE skald_code skald_pool_create(const skald_model* model, const skald_runtime* runtime, skald_pool** pool,
                                          skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_pool_create", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_pool_create", model, pool));
    SKALD_ASSIGN(const RuntimeConfig config, RuntimeOf(runtime));
    SKALD_ASSIGN(auto created, CreateBlockPool(model->model().model.layout(), config));
    *pool = new skald_pool{std::move(created)};
    return {};
  });
}

SKALD_INLINE void skald_pool_free(skald_pool* pool) { delete pool; }

SKALD_INLINE uint64_t skald_pool_used_bytes(const skald_pool* pool) {
  return pool == nullptr ? 0 : pool->pool->usage().used_bytes;
}

SKALD_INLINE skald_code skald_cache_create(skald_pool* pool, skald_cache** cache, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_cache_create", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_cache_create", pool, cache));
    SKALD_ASSIGN(auto created, CreateKVCache(pool->pool));
    *cache = new skald_cache{std::move(created)};
    return {};
  });
}

SKALD_INLINE void skald_cache_free(skald_cache* cache) { delete cache; }

SKALD_INLINE skald_code skald_cache_fork(const skald_cache* cache, skald_cache** fork, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_cache_fork", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_cache_fork", cache, fork));
    SKALD_ASSIGN(auto second, cache->cache.Fork());
    *fork = new skald_cache{std::move(second)};
    return {};
  });
}

SKALD_INLINE skald_code skald_cache_truncate(skald_cache* cache, uint32_t tokens, skald_error* error) {
  return skald::internal::ChangeCache("skald_cache_truncate", cache, error,
                                      [&](skald::KVCache& held) { return held.Truncate(tokens); });
}

SKALD_INLINE skald_code skald_cache_erase(skald_cache* cache, uint32_t begin, uint32_t end, skald_error* error) {
  return skald::internal::ChangeCache("skald_cache_erase", cache, error,
                                      [&](skald::KVCache& held) { return held.Erase(begin, end); });
}

SKALD_INLINE void skald_cache_clear(skald_cache* cache) {
  if (cache != nullptr) cache->cache.Clear();
}

SKALD_INLINE uint32_t skald_cache_size(const skald_cache* cache) { return cache == nullptr ? 0 : cache->cache.size(); }

SKALD_INLINE const int32_t* skald_cache_tokens(const skald_cache* cache) {
  return cache == nullptr ? nullptr : cache->cache.tokens().data();
}

SKALD_INLINE skald_code skald_cache_save(const skald_cache* cache, const skald_model* model, void* buffer,
                                         size_t capacity, size_t* bytes, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_cache_save", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_cache_save", cache, model, bytes));
    SKALD_ASSIGN(const Identity identity, IdentityOf(*model->shared));
    SKALD_ASSIGN(const uint64_t needed, SnapshotBytes(cache->cache, identity, {}));
    *bytes = static_cast<size_t>(needed);
    if (buffer == nullptr || needed > capacity) return {};
    return SaveSnapshot(cache->cache, identity, {}, std::span(static_cast<std::byte*>(buffer), capacity));
  });
}

SKALD_INLINE skald_code skald_cache_load(const void* snapshot, size_t bytes, const skald_model* model, skald_pool* pool,
                                         skald_cache** cache, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_cache_load", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_cache_load", snapshot, model, pool, cache));
    SKALD_ASSIGN(const Identity identity, IdentityOf(*model->shared));
    SKALD_ASSIGN(auto loaded,
                 LoadSnapshot(std::span(static_cast<const std::byte*>(snapshot), bytes), identity, pool->pool));
    *cache = new skald_cache{std::move(loaded.cache)};
    return {};
  });
}

#endif  // SKALD_C_DETAIL_CACHES_H_
