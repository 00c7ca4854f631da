// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/spare_bytes.h.

#ifndef SKALD_CACHE_DETAIL_SPARE_BYTES_H_
#define SKALD_CACHE_DETAIL_SPARE_BYTES_H_

#include "skald/cache/spare_bytes.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "skald/base/inline.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

SKALD_INLINE void SpareBytes::AddResumePoints(const KVCache& cache) {
  bool is_own = true;
  cache.ForEachTable([&](const BlockTable& table) {
    if (!std::exchange(is_own, false)) AddOthers(table, cache.table());
  });
}

SKALD_INLINE void SpareBytes::AddAll(const KVCache& cache) {
  cache.ForEachTable([&](const BlockTable& table) {
    table.ForEachBlock([&](uint32_t group, BlockId id) { references_.emplace_back(group, id); });
  });
}

SKALD_INLINE uint64_t SpareBytes::Count() {
  uint64_t bytes = 0;
  std::ranges::sort(references_);
  for (auto block = references_.begin(); block != references_.end();) {
    const auto next = std::find_if(block, references_.end(), [&](const auto& other) { return other != *block; });
    const auto& [group, id] = *block;
    if (pool_.references(group, id) == static_cast<uint32_t>(next - block))
      bytes += pool_.geometry(group).block_bytes();
    block = next;
  }
  return bytes;
}

SKALD_INLINE void SpareBytes::AddOthers(const BlockTable& point, const BlockTable& own) {
  for (uint32_t g = 0; g < point.groups.size(); ++g) {
    const bool is_attention = pool_.layout().groups()[g].is_attention();
    const size_t unit = is_attention ? pool_.runtime().block_tokens : 1;
    const size_t first = point.groups[g].first_token / unit, own_first = own.groups[g].first_token / unit;
    const std::vector<BlockId>&blocks = point.groups[g].blocks, &owned = own.groups[g].blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t place = first + i - own_first;  // large where it would be negative
      if (place >= owned.size() || owned[place] != blocks[i]) references_.emplace_back(g, blocks[i]);
    }
  }
}

}  // namespace skald

#endif  // SKALD_CACHE_DETAIL_SPARE_BYTES_H_
