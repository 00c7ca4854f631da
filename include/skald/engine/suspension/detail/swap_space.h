// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/suspension/swap_space.h.

#ifndef SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_SPACE_H_
#define SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_SPACE_H_

#include "skald/engine/suspension/swap_space.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/store/snapshots/state_source.h"

namespace skald {

SKALD_INLINE Result<SwappedCache> SwapSpace::Write(const KVCache& cache, const std::string& tenant) {
  return NoThrow("SwapSpace", [&]() -> Result<SwappedCache> {
    Recorder recorder{this, {}};
    auto key = SaveSnapshot(cache, IdentityOf(cache.adapter(), tenant), {}, ChunkStoreRef(recorder));
    SwappedCache swapped{{}, cache.size(), std::move(recorder.ours)};
    if (!key) {
      Drop(swapped);
      return Failure(key.error());
    }
    swapped.manifest = *key;
    return swapped;
  });
}

SKALD_INLINE Result<KVCache> SwapSpace::Read(const SwappedCache& swapped, const std::shared_ptr<BlockPool>& pool,
                                             const Sha256Digest& adapter, const std::string& tenant) {
  SKALD_ASSIGN(auto snapshot, LoadSnapshot(store_, swapped.manifest, IdentityOf(adapter, tenant), pool));
  return std::move(snapshot.cache);
}

SKALD_INLINE Result<void> SwapSpace::Adopt(std::span<const ChunkKey> chunks) {
  size_t adopted = 0;
  auto done = NoThrow("SwapSpace", [&]() -> Result<void> {
    const std::lock_guard lock(mutex_);
    for (; adopted < chunks.size(); ++adopted) ++holders_[chunks[adopted]];
    return {};
  });
  if (!done) Disown(chunks.first(adopted));
  return done;
}

SKALD_INLINE void SwapSpace::Disown(std::span<const ChunkKey> chunks) noexcept {
  for (const ChunkKey& key : chunks) (void)Release(key);
}

SKALD_INLINE void SwapSpace::Drop(const SwappedCache& swapped) noexcept {
  for (const ChunkKey& key : swapped.chunks) {
    if (Release(key)) (void)store_.Drop(key);
  }
}

SKALD_INLINE Result<bool> SwapSpace::Recorder::Has(const ChunkKey& key) {
  if (space->IsHeld(key)) Keep(key);
  return space->store_.Has(key);
}

SKALD_INLINE Result<void> SwapSpace::Recorder::Put(const ChunkKey& key, std::span<const std::byte> value) {
  Keep(key);
  return space->store_.Put(key, value);
}

SKALD_INLINE void SwapSpace::Recorder::Keep(const ChunkKey& key) {
  if (std::ranges::find(ours, key) != ours.end()) return;
  ours.push_back(key);
  const std::lock_guard lock(space->mutex_);
  ++space->holders_[key];
}

SKALD_INLINE bool SwapSpace::IsHeld(const ChunkKey& key) const {
  const std::lock_guard lock(mutex_);
  return holders_.contains(key);
}

SKALD_INLINE bool SwapSpace::Release(const ChunkKey& key) noexcept {
  const std::lock_guard lock(mutex_);
  const auto held = holders_.find(key);
  if (held == holders_.end() || --held->second > 0) return false;
  holders_.erase(held);
  return true;
}

SKALD_INLINE Identity SwapSpace::IdentityOf(const Sha256Digest& adapter, const std::string& tenant) const {
  Identity identity = identity_;
  identity.adapter = adapter;
  if (!tenant.empty()) identity.salt = tenant;
  return identity;
}

}  // namespace skald

#endif  // SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_SPACE_H_
