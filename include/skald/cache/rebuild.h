// SPDX-License-Identifier: Apache-2.0
//
// Copies a cache into blocks of another pool, unchanged or with each block transformed.

#ifndef SKALD_CACHE_REBUILD_H_
#define SKALD_CACHE_REBUILD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/table_lease.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"

namespace skald {

/// Blocks of one pool, and the blocks of another that replace them.
using BlockMoves = std::map<BlockId, BlockId>;

/// Returns `cache`, which must be valid, in fresh blocks of `pool`, which has the same groups. `fill(group, moves)`
/// writes those of a group, and returns a Result<void>. Errors: its own, the pool's. Throws std::bad_alloc.
template <class Fill>
Result<KVCache> RebuildCache(const KVCache& cache, const std::shared_ptr<BlockPool>& pool, Fill fill) {
  SKALD_ASSIGN(auto contents, cache.Contents());
  TableLease fresh(pool);
  std::vector<BlockMoves> moves(pool->layout().groups().size());
  std::optional<Error> full;
  const auto take = [&](size_t group, BlockId id) {
    if (full || moves[group].contains(id)) return;
    const auto block = fresh.Take(group, BlockContent::kUnspecified);
    block ? void(moves[group][id] = *block) : void(full = block.error());
  };
  cache.ForEachTable([&](const BlockTable& table) { table.ForEachBlock(take); });
  if (full) return Failure(std::move(*full));
  for (uint32_t g = 0; g < moves.size(); ++g) {
    if (moves[g].empty()) continue;
    SKALD_TRY(fill(g, moves[g]));
  }
  const auto move = [&](const TableLease& lease) {
    BlockTable table = lease.table();
    for (size_t g = 0; g < table.groups.size(); ++g) {
      for (BlockId& id : table.groups[g].blocks) id = moves[g].at(id);
    }
    return fresh.Share(std::move(table));
  };
  CacheContents moved = {move(contents.lease), std::move(contents.tokens), {}, contents.exact_tokens, contents.adapter};
  for (const TableLease& point : contents.resume_points) moved.resume_points.push_back(move(point));
  return KVCache(std::move(moved));
}

/// Returns a copy of `cache`, which must be valid, in blocks of `pool`, one of the same layout, block size and element
/// type. Errors: kInvalidArgument for another pool; kResourceExhausted.
Result<KVCache> CopyCache(const KVCache& cache, const std::shared_ptr<BlockPool>& pool);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/detail/rebuild.h"
#endif

#endif  // SKALD_CACHE_REBUILD_H_
