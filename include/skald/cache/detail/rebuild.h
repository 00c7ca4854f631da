// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/rebuild.h.

#ifndef SKALD_CACHE_DETAIL_REBUILD_H_
#define SKALD_CACHE_DETAIL_REBUILD_H_

#include "skald/cache/rebuild.h"

#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

SKALD_INLINE Result<KVCache> CopyCache(const KVCache& cache, const std::shared_ptr<BlockPool>& pool) {
  return NoThrow("CopyCache", [&]() -> Result<KVCache> {
    BlockPool& from = *cache.pool();
    const RuntimeConfig &a = from.runtime(), &b = pool->runtime();
    if (from.fingerprint() != pool->fingerprint() || a.block_tokens != b.block_tokens || a.kv_type != b.kv_type ||
        !from.has_bytes() || !pool->has_bytes()) {
      return Fail(ErrorCode::kInvalidArgument, "CopyCache: the pools differ in layout, block size or element type");
    }
    return RebuildCache(cache, pool, [&](uint32_t group, const BlockMoves& moves) -> Result<void> {
      for (const auto& [source, target] : moves) {
        std::memcpy(pool->ResolveOne(group, target), from.ResolveOne(group, source),
                    pool->geometry(group).block_bytes());
      }
      return {};
    });
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_DETAIL_REBUILD_H_
