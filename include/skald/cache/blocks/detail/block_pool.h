// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/block_pool.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_BLOCK_POOL_H_
#define SKALD_CACHE_BLOCKS_DETAIL_BLOCK_POOL_H_

#include "skald/cache/blocks/block_pool.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "skald/base/highway.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

// No conversation is longer than the model's longest text.
inline RuntimeConfig WithinLongestText(RuntimeConfig runtime, const CacheLayout& layout) {
  if (layout.longest_text() != 0) runtime.max_tokens = std::min(runtime.max_tokens, layout.longest_text());
  return runtime;
}

}  // namespace internal

SKALD_INLINE BlockPool::BlockPool(const CacheLayout& layout, const RuntimeConfig& runtime, bool has_bytes)
    : has_bytes_(has_bytes),
      layout_(layout.ForTokens(runtime.max_tokens)),
      fingerprint_(layout_.Fingerprint()),
      runtime_(internal::WithinLongestText(runtime, layout)),
      geometries_(GeometriesOf(layout, runtime)),
      ledger_(BlockBytesOf(geometries_), runtime.cache_bytes),
      storage_(geometries_.size()),
      reclaimers_(std::make_shared<Reclaimers>()) {}

SKALD_INLINE uint64_t BlockPool::max_blocks(size_t group) const {
  return std::min<uint64_t>(runtime_.cache_bytes / geometry(group).block_bytes(), kMaxBlocks);
}

SKALD_INLINE PoolUsage BlockPool::usage() const {
  const std::lock_guard lock(mutex_);
  return {ledger_.limit_bytes(), ledger_.used_bytes(), ledger_.limit_bytes() - ledger_.used_bytes()};
}

SKALD_INLINE Result<Reclaimers::Registration> BlockPool::AddReclaimer(Reclaimer reclaimer) {
  return Reclaimers::Add(reclaimers_, std::move(reclaimer));
}

SKALD_INLINE Failure BlockPool::FailNoBytes() {
  return Fail(ErrorCode::kFailedPrecondition,
              "the pool keeps account of blocks only (CreateLedgerPool): their "
              "bytes are elsewhere");
}

SKALD_INLINE Failure BlockPool::FailFull(uint64_t used, uint64_t limit, uint64_t needed) {
  return Fail(ErrorCode::kResourceExhausted,
              "the block pool is full: " + std::to_string(used) + " of " + std::to_string(limit) +
                  " bytes are used and " + std::to_string(needed) + " more are needed",
              {.needed_bytes = needed, .available_bytes = limit - used});
}

SKALD_INLINE Result<BlockId> BlockPool::Allocate(size_t group, BlockContent content) {
  return NoThrow("the block pool", [&]() -> Result<BlockId> {
    const uint64_t bytes = geometry(group).block_bytes();
    auto id = TryAllocate(group);
    while (!id && bytes <= ledger_.limit_bytes() && Reclaim(bytes) > 0) id = TryAllocate(group);
    if (id && has_bytes_ && content == BlockContent::kCleared) std::memset(ResolveOne(group, *id), 0, bytes);
    return id;
  });
}

SKALD_INLINE void BlockPool::AddReferences(const BlockTable& table) noexcept {
  const std::lock_guard lock(mutex_);
  table.ForEachBlock([this](size_t group, BlockId id) { ledger_.AddReference(group, id); });
}

SKALD_INLINE void BlockPool::DropReferences(const BlockTable& table) noexcept {
  const std::lock_guard lock(mutex_);
  table.ForEachBlock([this](size_t group, BlockId id) { ledger_.DropReference(group, id); });
}

SKALD_INLINE uint32_t BlockPool::references(size_t group, BlockId id) const {
  const std::lock_guard lock(mutex_);
  return ledger_.references(group, id);
}

SKALD_INLINE std::byte* BlockPool::ResolveOne(size_t group, BlockId id) {
  const std::lock_guard lock(mutex_);
  return ResidentBytes(group, id);
}

SKALD_INLINE std::vector<std::byte*> BlockPool::Resolve(size_t group, const std::vector<BlockId>& ids) {
  std::vector<std::byte*> bytes(ids.size());
  Resolve(group, ids, bytes);
  return bytes;
}

SKALD_INLINE void BlockPool::Resolve(size_t group, std::span<const BlockId> ids, std::span<std::byte*> bytes) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < ids.size(); ++i) bytes[i] = ResidentBytes(group, ids[i]);
}

SKALD_INLINE Result<BlockId> BlockPool::TryAllocate(size_t group) {
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

SKALD_INLINE void BlockPool::MakeResident(size_t group, BlockId id) {
  if (has_bytes_) storage_.MakeResident(group, id, ledger_.block_bytes(group));
}

SKALD_INLINE std::byte* BlockPool::ResidentBytes(size_t group, BlockId id) {
  HWY_DASSERT(has_bytes_);
  if (!storage_.IsResident(group, id)) {
    MakeResident(group, id);
    std::memset(storage_.Bytes(group, id), 0, ledger_.block_bytes(group));
  }
  return storage_.Bytes(group, id);
}

SKALD_INLINE std::vector<BlockGeometry> BlockPool::GeometriesOf(const CacheLayout& layout,
                                                                const RuntimeConfig& runtime) {
  std::vector<BlockGeometry> geometries;
  for (const CacheGroup& group : layout.groups()) {
    geometries.push_back(BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type));
  }
  return geometries;
}

SKALD_INLINE std::vector<uint64_t> BlockPool::BlockBytesOf(const std::vector<BlockGeometry>& geometries) {
  std::vector<uint64_t> bytes;
  for (const BlockGeometry& geometry : geometries) bytes.push_back(geometry.block_bytes());
  return bytes;
}

SKALD_INLINE void BlockPool::EvictSurplus() noexcept {
  for (size_t g = 0; g < ledger_.num_groups(); ++g) {
    for (const BlockId id : ledger_.free_blocks(g)) {
      if (storage_.resident_bytes() <= ledger_.limit_bytes()) return;
      if (storage_.IsResident(g, id)) storage_.Evict(g, id);
    }
  }
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_BLOCK_POOL_H_
