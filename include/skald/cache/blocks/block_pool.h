// SPDX-License-Identifier: Apache-2.0
//
// BlockPool: memory for any number of caches of one layout, within one byte limit. Blocks are shared by reference
// count. Safe for concurrent calls. A pool lives as long as any cache made from it.
//
// No block shows what its last owner left in it. Allocate clears it; a step takes blocks without (block_exchange.h),
// because its plan says how each of them is filled from the first byte to the last.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_POOL_H_
#define SKALD_CACHE_BLOCKS_BLOCK_POOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hwy/base.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_ledger.h"
#include "skald/cache/blocks/block_storage.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/reclaimers.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/form/runtime_config.h"

namespace skald {

class BlockPeers;  // cache/block_peers.h

// used_bytes + available_bytes == limit_bytes, always.
struct PoolUsage {
  uint64_t limit_bytes;
  uint64_t used_bytes;
  uint64_t available_bytes;
};

// What a fresh block holds.
enum class BlockContent { kCleared, kUnspecified };

class BlockPool {
 public:
  // Use CreateBlockPool or CreateLedgerPool (create.h), which check `runtime` first and make an error of an exception.
  BlockPool(const CacheLayout& layout, const RuntimeConfig& runtime, bool has_bytes = true)
      : has_bytes_(has_bytes),
        layout_(layout.ForTokens(runtime.max_tokens)),
        fingerprint_(layout_.Fingerprint()),
        runtime_(runtime),
        geometries_(GeometriesOf(layout, runtime)),
        ledger_(BlockBytesOf(geometries_), runtime.cache_bytes),
        storage_(geometries_.size()),
        reclaimers_(std::make_shared<Reclaimers>()) {}

  // False where blocks are numbers alone: caches grow, fork and rewind, and their bytes are elsewhere.
  bool has_bytes() const { return has_bytes_; }
  // As given, for the runtime's token limit.
  const CacheLayout& layout() const { return layout_; }
  uint64_t fingerprint() const { return fingerprint_; }
  const RuntimeConfig& runtime() const { return runtime_; }
  const BlockGeometry& geometry(size_t group) const { return geometries_[group]; }
  // Block numbers of `group` are below this.
  uint64_t max_blocks(size_t group) const {
    return std::min<uint64_t>(runtime_.cache_bytes / geometry(group).block_bytes(), kMaxBlocks);
  }

  // Who has the rest of the state, where this is one rank's part of it (block_peers.h); else null. Set once, before any
  // cache is made.
  const std::shared_ptr<BlockPeers>& peers() const { return peers_; }
  void SetPeers(std::shared_ptr<BlockPeers> peers) { peers_ = std::move(peers); }

  PoolUsage usage() const {
    const std::lock_guard lock(mutex_);
    return {ledger_.limit_bytes(), ledger_.used_bytes(), ledger_.limit_bytes() - ledger_.used_bytes()};
  }

  // Names someone who can give up blocks when the pool is full, for as long as what this returns lives. They are asked
  // in the order in which they were added (reclaimers.h).
  Result<Reclaimers::Registration> AddReclaimer(Reclaimer reclaimer) {
    return Reclaimers::Add(reclaimers_, std::move(reclaimer));
  }

  // Asks for blocks to be given up, as Allocate does. Returns how many bytes that freed; 0: no one has any to give.
  uint64_t Reclaim(uint64_t missing_bytes) { return reclaimers_->Reclaim(missing_bytes); }

  // The error for a call that needs bytes which this pool has not.
  static Failure FailNoBytes() {
    return Fail(ErrorCode::kFailedPrecondition,
                "the pool keeps account of blocks only (CreateLedgerPool): their "
                "bytes are elsewhere");
  }

  // The error for blocks of `needed` bytes where there is no room for them.
  static Failure FailFull(uint64_t used, uint64_t limit, uint64_t needed) {
    return Fail(ErrorCode::kResourceExhausted,
                "the block pool is full: " + std::to_string(used) + " of " + std::to_string(limit) +
                    " bytes are used and " + std::to_string(needed) + " more are needed",
                {.needed_bytes = needed, .available_bytes = limit - used});
  }

  // Takes a block of `group` with one reference, owned by the caller, and clears it unless the caller will fill it.
  // Error: kResourceExhausted at the byte limit, or where the system has no more memory.
  Result<BlockId> Allocate(size_t group, BlockContent content = BlockContent::kCleared) {
    return NoThrow("the block pool", [&]() -> Result<BlockId> {
      const uint64_t bytes = geometry(group).block_bytes();
      auto id = TryAllocate(group);
      while (!id && bytes <= ledger_.limit_bytes() && Reclaim(bytes) > 0) id = TryAllocate(group);
      if (id && has_bytes_ && content == BlockContent::kCleared) std::memset(ResolveOne(group, *id), 0, bytes);
      return id;
    });
  }

  // Adds a reference to, or gives one back for, every block of `table`.
  void AddReferences(const BlockTable& table) noexcept {
    const std::lock_guard lock(mutex_);
    table.ForEachBlock([this](size_t group, BlockId id) { ledger_.AddReference(group, id); });
  }
  void DropReferences(const BlockTable& table) noexcept {
    const std::lock_guard lock(mutex_);
    table.ForEachBlock([this](size_t group, BlockId id) { ledger_.DropReference(group, id); });
  }

  uint32_t references(size_t group, BlockId id) const {
    const std::lock_guard lock(mutex_);
    return ledger_.references(group, id);
  }

  // Returns the bytes of a block, or of each listed block, valid as long as the caller holds a reference to it; the
  // pool must have bytes. A block that this pool never gave out, of a plan made on another pool, is cleared at first;
  // std::bad_alloc is thrown where there is no memory for such a block, or for the list.
  std::byte* ResolveOne(size_t group, BlockId id) {
    const std::lock_guard lock(mutex_);
    return ResidentBytes(group, id);
  }
  std::vector<std::byte*> Resolve(size_t group, const std::vector<BlockId>& ids) {
    std::vector<std::byte*> bytes(ids.size());
    Resolve(group, ids, bytes);
    return bytes;
  }
  // The same into `bytes`, which is at least as long.
  void Resolve(size_t group, std::span<const BlockId> ids, std::span<std::byte*> bytes) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < ids.size(); ++i) bytes[i] = ResidentBytes(group, ids[i]);
  }

 private:
  friend class BlockExchange;

  Result<BlockId> TryAllocate(size_t group) {
    const std::lock_guard lock(mutex_);
    const auto id = ledger_.Allocate(group);
    if (!id) return FailFull(ledger_.used_bytes(), ledger_.limit_bytes(), ledger_.block_bytes(group));
    auto stored = NoThrow("the block pool", [&]() -> Result<BlockId> {
      MakeResident(group, *id);
      return *id;
    });
    if (!stored) ledger_.DropReference(group, *id);
    EvictSurplus();
    return stored;
  }

  void MakeResident(size_t group, BlockId id) {
    if (has_bytes_) storage_.MakeResident(group, id, ledger_.block_bytes(group));
  }

  std::byte* ResidentBytes(size_t group, BlockId id) {
    HWY_DASSERT(has_bytes_);
    if (!storage_.IsResident(group, id)) {
      MakeResident(group, id);
      std::memset(storage_.Bytes(group, id), 0, ledger_.block_bytes(group));
    }
    return storage_.Bytes(group, id);
  }

  static std::vector<BlockGeometry> GeometriesOf(const CacheLayout& layout, const RuntimeConfig& runtime) {
    std::vector<BlockGeometry> geometries;
    for (const CacheGroup& group : layout.groups()) {
      geometries.push_back(BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type));
    }
    return geometries;
  }

  static std::vector<uint64_t> BlockBytesOf(const std::vector<BlockGeometry>& geometries) {
    std::vector<uint64_t> bytes;
    for (const BlockGeometry& geometry : geometries) bytes.push_back(geometry.block_bytes());
    return bytes;
  }

  // Free blocks stay resident for reuse, but never so many that the process holds more than the limit. Called when
  // memory was asked for and nothing is written to it yet: until then the system has not lent it.
  void EvictSurplus() noexcept {
    for (size_t g = 0; g < ledger_.num_groups(); ++g) {
      for (const BlockId id : ledger_.free_blocks(g)) {
        if (storage_.resident_bytes() <= ledger_.limit_bytes()) return;
        if (storage_.IsResident(g, id)) storage_.Evict(g, id);
      }
    }
  }

  const bool has_bytes_;
  const CacheLayout layout_;
  const uint64_t fingerprint_;
  const RuntimeConfig runtime_;
  const std::vector<BlockGeometry> geometries_;  // [group]
  mutable std::mutex mutex_;
  BlockLedger ledger_;    // guarded by mutex_
  BlockStorage storage_;  // guarded by mutex_
  const std::shared_ptr<Reclaimers> reclaimers_;
  std::shared_ptr<BlockPeers> peers_;
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_BLOCK_POOL_H_
