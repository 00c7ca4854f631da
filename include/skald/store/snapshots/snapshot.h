// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: a conversation written down, and taken up again where it stood, with the same bits: in another process, on
// another machine or SIMD target, with other block sizes and threads. To a ChunkStore a snapshot is a manifest and
// chunks named by what they hold, so saving again writes only what is new and conversations share what they have in
// common. To a sink or buffer it is the same in one piece. SNAPSHOT_FORMAT.md describes the bytes.
//
// Saving reads the cache only; to go on generating meanwhile, save a Fork in another thread. Loading makes a new cache
// from fresh blocks; an error leaves nothing behind. The weights' identity is the caller's to name (identity.h).

#ifndef SKALD_STORE_SNAPSHOTS_SNAPSHOT_H_
#define SKALD_STORE_SNAPSHOTS_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_repair.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/byte_io.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/manifest.h"
#include "skald/store/snapshots/snapshot_loader.h"
#include "skald/store/snapshots/snapshot_writer.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/whole_state.h"

namespace skald {

struct Snapshot {
  KVCache cache;
  SnapshotNotes notes;
};

namespace internal {

Result<Manifest> OpenManifest(const ChunkKey& key, std::span<const std::byte> stored, const Identity& identity,
                              const BlockPool& pool);

template <class Fetch>
Result<Snapshot> BuildSnapshot(Manifest manifest, std::shared_ptr<BlockPool> pool, Fetch fetch,
                               std::optional<ExecutorRef> executor = {}) {
  SKALD_ASSIGN(auto cache, LoadWhole(pool, [&](const std::shared_ptr<BlockPool>& whole) {
                 return SnapshotLoader<Fetch>(whole, std::move(fetch), executor).Load(manifest);
               }));
  return Snapshot{std::move(cache), std::move(manifest.notes)};
}

}  // namespace internal

/// Writes what the store does not have yet, the manifest last, and returns the manifest's key, by which to load. What
/// the store has is looked at, and written again where its length or header is not that of the chunk. Errors: the
/// store's; kFailedPrecondition for a cache that was moved from, that is for another adapter than the identity says, or
/// whose pool has no bytes; kResourceExhausted, also where a store with a limit had to drop some of the snapshot's
/// chunks to take the others. Of a cache that may be revoked (state_source.h) it also fails where that happens.
Result<ChunkKey> SaveSnapshot(const StateSource& state, const Identity& identity, const SnapshotNotes& notes,
                              ChunkStoreRef store, const SnapshotOptions& options = {});

/// Writes everything to a sink. What a sink took before an error is of no use.
Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes, ByteSinkRef sink,
                          const SnapshotOptions& options = {});

/// Returns how many bytes SaveSnapshot writes to a sink or a buffer. With a compressing codec it compresses to know.
Result<uint64_t> SnapshotBytes(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                               const SnapshotOptions& options = {});

/// Writes everything to the front of `buffer`. Error: kResourceExhausted for one smaller than SnapshotBytes.
Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                          std::span<std::byte> buffer, const SnapshotOptions& options = {});

namespace internal {

/// The keys of all chunks that a manifest names.
std::vector<ChunkKey> ChunksOf(const Manifest& manifest);

/// Reads the manifest `key` from a store, and returns load(manifest), which fetches chunks from there. Where one of
/// them is damaged, or the manifest is, all that are go, so that saving again heals the snapshot.
template <class Load>
auto LoadFromStore(ChunkStoreRef store, const ChunkKey& key, const Identity& identity, const BlockPool& pool, Load load)
    -> decltype(load(std::declval<Manifest>())) {
  const auto stored = store.Get(key);
  if (!stored && stored.error().code != ErrorCode::kDataLoss) return Annotate("the snapshot's manifest", stored);
  const auto manifest = stored ? OpenManifest(key, *stored, identity, pool)
                               : Result<Manifest>(Annotate("the snapshot's manifest", stored));
  if (!manifest) {
    if (manifest.error().code == ErrorCode::kDataLoss) DropDamagedChunks(store, {&key, 1});
    return Failure(manifest.error());
  }
  auto loaded = load(*manifest);
  if (!loaded && loaded.error().code == ErrorCode::kDataLoss) DropDamagedChunks(store, ChunksOf(*manifest));
  return loaded;
}

/// Fetches chunks from a store for a SnapshotLoader.
inline auto FetchFrom(ChunkStoreRef store) {
  return [store](const ChunkKey& key, uint64_t, ChunkBytes& room) -> Result<std::span<const std::byte>> {
    SKALD_ASSIGN(auto chunk, store.Get(key));
    room = std::move(chunk);
    return room;
  };
}

}  // namespace internal

/// Takes up the snapshot whose manifest has this key, in blocks of `pool`. Errors: kNotFound for a missing manifest or
/// chunk; kFailedPrecondition for another identity, Config or kv_type, naming which; kDataLoss, kUnsupported for bytes
/// that are damaged or of another version; kOutOfRange, kResourceExhausted for the pool's limits; kInvalidArgument for
/// a null pool. Damaged chunks of the snapshot are dropped from the store: who has the conversation can save it again.
/// `executor` checks and places as many chunks at once as it has workers.
Result<Snapshot> LoadSnapshot(ChunkStoreRef store, const ChunkKey& key, const Identity& identity,
                              std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor = {});

/// The same from a source, which is read to the snapshot's end and no further.
Result<Snapshot> LoadSnapshot(ByteSourceRef source, const Identity& identity, std::shared_ptr<BlockPool> pool,
                              std::optional<ExecutorRef> executor = {});

/// The same from bytes in memory.
Result<Snapshot> LoadSnapshot(std::span<const std::byte> bytes, const Identity& identity,
                              std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/snapshot.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_SNAPSHOT_H_
