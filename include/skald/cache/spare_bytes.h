// SPDX-License-Identifier: Apache-2.0
//
// What caches of a pool hold and could give up at once: their resume points.

#ifndef SKALD_CACHE_SPARE_BYTES_H_
#define SKALD_CACHE_SPARE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/kv_cache.h"

namespace skald {

// Counts the bytes that a pool would get back if caches gave up what is added here. Blocks that anyone else refers to,
// those caches' own tables included, are not among them. Calls throw std::bad_alloc.
class SpareBytes {
 public:
  // `pool` must outlive this.
  explicit SpareBytes(const BlockPool& pool) : pool_(pool) {}

  // Resume points of a cache, whose own table stays.
  void AddResumePoints(const KVCache& cache) {
    bool is_own = true;
    cache.ForEachTable([&](const BlockTable& table) {
      if (!std::exchange(is_own, false)) AddOthers(table, cache.table());
    });
  }

  // All of a cache.
  void AddAll(const KVCache& cache) {
    cache.ForEachTable([&](const BlockTable& table) {
      table.ForEachBlock([&](uint32_t group, BlockId id) { ++references_[{group, id}]; });
    });
  }

  uint64_t Count() const {
    uint64_t bytes = 0;
    for (const auto& [block, count] : references_) {
      const auto& [group, id] = block;
      if (pool_.references(group, id) == count) bytes += pool_.geometry(group).block_bytes();
    }
    return bytes;
  }

 private:
  // Most blocks of a resume point are its cache's own, at the same place: those are passed over.
  void AddOthers(const BlockTable& point, const BlockTable& own) {
    for (uint32_t g = 0; g < point.groups.size(); ++g) {
      const bool is_attention = pool_.layout().groups()[g].is_attention();
      const size_t unit = is_attention ? pool_.runtime().block_tokens : 1;
      const size_t first = point.groups[g].first_token / unit, own_first = own.groups[g].first_token / unit;
      const std::vector<BlockId>&blocks = point.groups[g].blocks, &owned = own.groups[g].blocks;
      for (size_t i = 0; i < blocks.size(); ++i) {
        const size_t place = first + i - own_first;  // large where it would be negative
        if (place >= owned.size() || owned[place] != blocks[i]) ++references_[{g, blocks[i]}];
      }
    }
  }

  const BlockPool& pool_;
  std::map<std::pair<uint32_t, BlockId>, uint32_t> references_;  // of what was added
};

}  // namespace skald

#endif  // SKALD_CACHE_SPARE_BYTES_H_
