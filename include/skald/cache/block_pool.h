// SPDX-License-Identifier: Apache-2.0
//
// BlockPool: memory for any number of caches of one layout, within one byte limit. Blocks are shared by reference
// count. Safe for concurrent calls. A pool lives as long as any cache made from it.

#ifndef SKALD_CACHE_BLOCK_POOL_H_
#define SKALD_CACHE_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/block_ledger.h"
#include "skald/cache/block_storage.h"
#include "skald/cache/block_table.h"
#include "skald/cache/layout.h"
#include "skald/cache/runtime_config.h"

namespace skald {

// used_bytes + available_bytes == limit_bytes, always.
struct PoolUsage {
  uint64_t limit_bytes;
  uint64_t used_bytes;
  uint64_t available_bytes;
};

class BlockPool {
 public:
  // Use CreateBlockPool (create.h), which checks `runtime` first.
  BlockPool(const CacheLayout& layout, const RuntimeConfig& runtime)
      : layout_(layout),
        fingerprint_(layout.Fingerprint()),
        runtime_(runtime),
        geometries_(GeometriesOf(layout, runtime)),
        ledger_(BlockBytesOf(geometries_), runtime.cache_bytes),
        storage_(geometries_.size()) {}

  const CacheLayout& layout() const { return layout_; }
  uint64_t fingerprint() const { return fingerprint_; }
  const RuntimeConfig& runtime() const { return runtime_; }
  const BlockGeometry& geometry(size_t group) const { return geometries_[group]; }

  PoolUsage usage() const {
    const std::lock_guard lock(mutex_);
    return {ledger_.limit_bytes(), ledger_.used_bytes(), ledger_.limit_bytes() - ledger_.used_bytes()};
  }

  // Names someone who can give up blocks: `reclaim` is called, possibly by several threads, when the pool is full, and
  // returns false when nothing is left to give. Null for no one; then no call of the former one goes on any more.
  void SetReclaimer(std::function<bool()> reclaim) {
    const std::unique_lock lock(reclaim_mutex_);
    reclaim_ = std::move(reclaim);
  }

  // Takes a block of `group` with one reference, owned by the caller. Its content is unspecified.
  // Error: kResourceExhausted at the byte limit, or where the system has no more memory.
  Result<BlockId> Allocate(size_t group) {
    auto id = TryAllocate(group);
    while (!id && id.error().code == ErrorCode::kResourceExhausted && Reclaim()) id = TryAllocate(group);
    return id;
  }

  // Adds a reference to, or gives one back for, every block of `table`.
  void AddReferences(const BlockTable& table) {
    const std::lock_guard lock(mutex_);
    ForEachBlock(table, [this](size_t group, BlockId id) { ledger_.AddReference(group, id); });
  }
  void DropReferences(const BlockTable& table) {
    const std::lock_guard lock(mutex_);
    ForEachBlock(table, [this](size_t group, BlockId id) { ledger_.DropReference(group, id); });
  }

  uint32_t references(size_t group, BlockId id) const {
    const std::lock_guard lock(mutex_);
    return ledger_.references(group, id);
  }

  // Returns the bytes of each listed block, valid as long as the caller holds a reference to it.
  std::vector<std::byte*> Resolve(size_t group, const std::vector<BlockId>& ids) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*> bytes;
    bytes.reserve(ids.size());
    for (const BlockId id : ids) bytes.push_back(storage_.Bytes(group, id, ledger_.block_bytes(group)));
    return bytes;
  }

 private:
  bool Reclaim() {
    const std::shared_lock lock(reclaim_mutex_);
    return reclaim_ && reclaim_();
  }

  Result<BlockId> TryAllocate(size_t group) {
    const std::lock_guard lock(mutex_);
    const auto id = ledger_.Allocate(group);
    if (!id) {
      return Fail(ErrorCode::kResourceExhausted,
                  "the block pool is full: " + std::to_string(ledger_.used_bytes()) + " of " +
                      std::to_string(ledger_.limit_bytes()) + " bytes are used and a block needs " +
                      std::to_string(ledger_.block_bytes(group)));
    }
    auto stored = NoThrow("the block pool", [&]() -> Result<BlockId> {
      if (!storage_.IsResident(group, *id)) MakeRoom(ledger_.block_bytes(group));
      storage_.Bytes(group, *id, ledger_.block_bytes(group));
      return *id;
    });
    if (!stored) ledger_.DropReference(group, *id);
    return stored;
  }

  template <class Function>
  static void ForEachBlock(const BlockTable& table, Function function) {
    for (size_t g = 0; g < table.groups.size(); ++g) {
      for (const BlockId id : table.groups[g].blocks) function(g, id);
    }
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

  // Free blocks stay resident for reuse, but never so many that the process holds more than the limit.
  void MakeRoom(uint64_t bytes) {
    for (size_t g = 0; g < ledger_.num_groups(); ++g) {
      for (const BlockId id : ledger_.free_blocks(g)) {
        if (storage_.resident_bytes() + bytes <= ledger_.limit_bytes()) return;
        if (storage_.IsResident(g, id)) storage_.Evict(g, id);
      }
    }
  }

  const CacheLayout layout_;
  const uint64_t fingerprint_;
  const RuntimeConfig runtime_;
  const std::vector<BlockGeometry> geometries_;  // [group]
  mutable std::mutex mutex_;
  BlockLedger ledger_;    // guarded by mutex_
  BlockStorage storage_;  // guarded by mutex_
  std::shared_mutex reclaim_mutex_;
  std::function<bool()> reclaim_;  // guarded by reclaim_mutex_
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCK_POOL_H_
