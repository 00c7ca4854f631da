// SPDX-License-Identifier: Apache-2.0
//
// Counts the memory that caches of a pool could give up at once: their resume points.

#ifndef SKALD_CACHE_SPARE_BYTES_H_
#define SKALD_CACHE_SPARE_BYTES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/kv_cache.h"

namespace skald {

/// Counts the bytes that a pool would get back if caches gave up the tables added here. Blocks with any other
/// reference, those caches' own tables included, are not counted. Calls throw std::bad_alloc.
class SpareBytes {
 public:
  /// `pool` must outlive this.
  explicit SpareBytes(const BlockPool& pool) : pool_(pool) {}

  /// Resume points of a cache, whose own table stays.
  void AddResumePoints(const KVCache& cache);

  /// All of a cache.
  void AddAll(const KVCache& cache);

  /// Returns the bytes of the pool that would be free without the caches that were added.
  uint64_t Count();

 private:
  // Most blocks of a resume point are its cache's own, at the same place: those are skipped.
  void AddOthers(const BlockTable& point, const BlockTable& own);

  const BlockPool& pool_;
  std::vector<std::pair<uint32_t, BlockId>> references_;  ///< of the added tables, each counted separately
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/detail/spare_bytes.h"
#endif

#endif  // SKALD_CACHE_SPARE_BYTES_H_
