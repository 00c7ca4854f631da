// SPDX-License-Identifier: Apache-2.0
//
// SwapSpace: where conversations wait that had to give their memory away: snapshots in a ChunkStore, which go when they
// are read. Chunks that the store held before stay in it.

#ifndef SKALD_ENGINE_SUSPENSION_SWAP_SPACE_H_
#define SKALD_ENGINE_SUSPENSION_SWAP_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

/// A conversation that was written down.
struct SwappedCache {
  ChunkKey manifest;                  ///< names the snapshot's manifest in the store
  uint32_t tokens = 0;                ///< that the cache has
  std::vector<ChunkKey> chunks = {};  ///< that are ours in the store, the manifest among them
};

/// Used by one thread at a time, but for Adopt and Disown, which any may call at any time.
class SwapSpace {
 public:
  /// `store` must outlive this. `identity` is of the model; adapter and salt are each conversation's own.
  SwapSpace(ChunkStoreRef store, Identity identity) : store_(store), identity_(std::move(identity)) {}

  /// Errors: those of SaveSnapshot. Chunks that were written until then are dropped.
  Result<SwappedCache> Write(const KVCache& cache, const std::string& tenant);

  /// Returns the conversation; it stays written down until Drop. Errors: those of LoadSnapshot.
  Result<KVCache> Read(const SwappedCache& swapped, const std::shared_ptr<BlockPool>& pool, const Sha256Digest& adapter,
                       const std::string& tenant);

  /// Answers for what another one wrote into the store. Error: kResourceExhausted; then it does not.
  Result<void> Adopt(std::span<const ChunkKey> chunks);

  /// Leaves it to another one.
  void Disown(std::span<const ChunkKey> chunks) noexcept;

  /// Chunks that no other conversation here has go. A store that fails to forget them keeps them.
  void Drop(const SwappedCache& swapped) noexcept;

 private:
  // The store, as a snapshot is written to it; notes which chunks were not there without us.
  struct Recorder {
    SwapSpace* space;
    std::vector<ChunkKey> ours;

    Result<bool> Has(const ChunkKey& key);
    Result<ChunkBytes> Get(const ChunkKey& key) { return space->store_.Get(key); }
    Result<void> Put(const ChunkKey& key, std::span<const std::byte> value);
    Result<void> Drop(const ChunkKey& key) { return space->store_.Drop(key); }
    Result<std::vector<ChunkKey>> List() { return space->store_.List(); }

    void Keep(const ChunkKey& key);
  };

  bool IsHeld(const ChunkKey& key) const;

  /// True where no conversation here has it any more.
  bool Release(const ChunkKey& key) noexcept;

  Identity IdentityOf(const Sha256Digest& adapter, const std::string& tenant) const;

  ChunkStoreRef store_;
  Identity identity_;
  mutable std::mutex mutex_;
  std::map<ChunkKey, uint32_t> holders_;  ///< of our chunks; guarded by mutex_
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/suspension/detail/swap_space.h"
#endif

#endif  // SKALD_ENGINE_SUSPENSION_SWAP_SPACE_H_
