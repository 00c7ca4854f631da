// SPDX-License-Identifier: Apache-2.0
//
// BlockPeers: access to the rest of the state if the blocks of a pool are one rank's part of it. Saved conversations
// always hold the whole state, partitioned or not.

#ifndef SKALD_CACHE_BLOCK_PEERS_H_
#define SKALD_CACHE_BLOCK_PEERS_H_

#include <memory>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"

namespace skald {

class BlockPeers {
 public:
  virtual ~BlockPeers() = default;

  /// The layout of the whole state.
  virtual const CacheLayout& whole() const = 0;

  /// Returns the conversation with its whole state, in a pool of its own. Errors: out of memory, and peers that do not
  /// answer.
  virtual Result<KVCache> Gather(const KVCache& part) = 0;

  /// The inverse: gives each peer its part of a whole conversation, in blocks of `pool` with the same numbers on every
  /// peer, and returns this rank's part. Errors: as above, and the pool's limit.
  virtual Result<KVCache> Scatter(const KVCache& whole, const std::shared_ptr<BlockPool>& pool) = 0;
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCK_PEERS_H_
