// SPDX-License-Identifier: Apache-2.0
//
// BlockPool: memory for any number of caches of one layout, within one byte limit. Blocks are shared by reference
// count. Safe for concurrent calls. A pool lives as long as any cache made from it.
//
// A block never shows the content of its last owner. Allocate clears it. A step takes uncleared blocks
// (block_exchange.h), because its plan says how each of them is filled from the first byte to the last.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_POOL_H_
#define SKALD_CACHE_BLOCKS_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_ledger.h"
#include "skald/cache/blocks/block_storage.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/reclaimers.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

class BlockPeers;  ///< cache/block_peers.h

/// used_bytes + available_bytes == limit_bytes, always.
struct PoolUsage {
  uint64_t limit_bytes;      ///< RuntimeConfig::cache_bytes
  uint64_t used_bytes;       ///< of blocks that have a reference
  uint64_t available_bytes;  ///< for new blocks
};

/// The content of a fresh block.
enum class BlockContent { kCleared, kUnspecified };

class BlockPool {
 public:
  /// Use CreateBlockPool or CreateLedgerPool (create.h), which check `runtime` first and turn an exception into an
  /// error.
  BlockPool(const CacheLayout& layout, const RuntimeConfig& runtime, bool has_bytes = true);

  /// False if blocks are numbers alone: caches grow, fork and rewind, and their bytes are elsewhere.
  bool has_bytes() const { return has_bytes_; }
  /// The given layout, for the runtime's token limit.
  const CacheLayout& layout() const { return layout_; }
  /// The fingerprint of layout(): pools of the same fingerprint can exchange tables and plans.
  uint64_t fingerprint() const { return fingerprint_; }
  /// As given; its token limit holds for each cache.
  const RuntimeConfig& runtime() const { return runtime_; }
  /// The places of keys, values and states in a block of a group.
  const BlockGeometry& geometry(size_t group) const { return geometries_[group]; }
  /// Block numbers of `group` are below this.
  uint64_t max_blocks(size_t group) const;

  /// The peers with the rest of the state if this is one rank's part of it (block_peers.h); else null. Set once, before
  /// any cache is made.
  const std::shared_ptr<BlockPeers>& peers() const { return peers_; }
  /// See peers().
  void SetPeers(std::shared_ptr<BlockPeers> peers) { peers_ = std::move(peers); }

  /// The bytes of all blocks, now. Any thread may ask.
  PoolUsage usage() const;

  /// Adds a reclaimer that can give up blocks when the pool is full, for as long as the returned object lives.
  /// Reclaimers are called in the order in which they were added (reclaimers.h).
  Result<Reclaimers::Registration> AddReclaimer(Reclaimer reclaimer);

  /// Asks reclaimers to give up blocks, as Allocate does. Returns how many bytes that freed; 0: there are none to give.
  uint64_t Reclaim(uint64_t missing_bytes) { return reclaimers_->Reclaim(missing_bytes); }

  /// The error for a call that needs bytes if the pool has none.
  static Failure FailNoBytes();

  /// The error for blocks of `needed` bytes for which there is no room.
  static Failure FailFull(uint64_t used, uint64_t limit, uint64_t needed);

  /// Takes a block of `group` with one reference, owned by the caller, and clears it unless `content` says that the
  /// caller will fill it. Error: kResourceExhausted at the byte limit, or if the system has no more memory.
  Result<BlockId> Allocate(size_t group, BlockContent content = BlockContent::kCleared);

  /// Adds one reference to every block of `table`, or drops one.
  void AddReferences(const BlockTable& table) noexcept;
  /// Drops one reference to every block of `table`; blocks without references are free.
  void DropReferences(const BlockTable& table) noexcept;

  /// References to a block; 0: it is free.
  uint32_t references(size_t group, BlockId id) const;

  /// Returns the bytes of a block, or of each listed block, valid as long as the caller holds a reference to it; the
  /// pool must have bytes. A block that this pool never gave out, of a plan made on another pool, is cleared at first.
  /// Throws std::bad_alloc if there is no memory for such a block, or for the list.
  std::byte* ResolveOne(size_t group, BlockId id);
  /// As ResolveOne, for each block of a list.
  std::vector<std::byte*> Resolve(size_t group, const std::vector<BlockId>& ids);
  /// The same into `bytes`, which is at least as long.
  void Resolve(size_t group, std::span<const BlockId> ids, std::span<std::byte*> bytes);

 private:
  friend class BlockExchange;

  Result<BlockId> TryAllocate(size_t group);

  void MakeResident(size_t group, BlockId id);

  std::byte* ResidentBytes(size_t group, BlockId id);

  static std::vector<BlockGeometry> GeometriesOf(const CacheLayout& layout, const RuntimeConfig& runtime);

  static std::vector<uint64_t> BlockBytesOf(const std::vector<BlockGeometry>& geometries);

  /// Free blocks stay resident for reuse, but never so many that the process holds more than the limit. Called after
  /// memory was allocated and before it is written: until then the system does not count it.
  void EvictSurplus() noexcept;

  const bool has_bytes_;
  const CacheLayout layout_;
  const uint64_t fingerprint_;
  const RuntimeConfig runtime_;
  const std::vector<BlockGeometry> geometries_;  ///< [group]
  mutable std::mutex mutex_;
  BlockLedger ledger_;    ///< guarded by mutex_
  BlockStorage storage_;  ///< guarded by mutex_
  const std::shared_ptr<Reclaimers> reclaimers_;
  std::shared_ptr<BlockPeers> peers_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/block_pool.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_BLOCK_POOL_H_
