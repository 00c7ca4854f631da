// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: a saved conversation that continues with the same bits: in another process, on another machine or SIMD
// target, with other block sizes and threads. In a ChunkStore a snapshot is a manifest and chunks named by their
// content, so saving again writes only new chunks, and conversations share common ones. In a sink or buffer it is the
// same in one piece. SNAPSHOT_FORMAT.md describes the bytes.
//
// Saving only reads the cache; to continue generating meanwhile, save a Fork in another thread. Loading makes a new
// cache from fresh blocks; an error leaves nothing allocated. The caller provides the weights' identity (identity.h).

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

/// A conversation that was loaded.
struct Snapshot {
  KVCache cache;        ///< in the pool that was given
  SnapshotNotes notes;  ///< as they were saved
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

/// Writes the chunks that the store lacks, the manifest last, and returns the manifest's key, by which to load.
/// Existing chunks are checked, and written again if their length or header is wrong. Errors: the store's;
/// kFailedPrecondition for a cache that was moved from, that is for another adapter than the identity says, or whose
/// pool has no bytes; kResourceExhausted, also if a store with a limit had to drop some of the snapshot's chunks to
/// take the others. A cache that may be revoked (state_source.h) also fails when that happens.
Result<ChunkKey> SaveSnapshot(const StateSource& state, const Identity& identity, const SnapshotNotes& notes,
                              ChunkStoreRef store, const SnapshotOptions& options = {});

/// Writes everything to a sink. After an error, discard the bytes that the sink got.
Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes, ByteSinkRef sink,
                          const SnapshotOptions& options = {});

/// Returns how many bytes SaveSnapshot writes to a sink or a buffer. A compressing codec has to compress everything for
/// it.
Result<uint64_t> SnapshotBytes(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                               const SnapshotOptions& options = {});

/// Writes everything to the front of `buffer`. Error: kResourceExhausted for one smaller than SnapshotBytes.
Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                          std::span<std::byte> buffer, const SnapshotOptions& options = {});

namespace internal {

/// The keys of all chunks that a manifest names.
std::vector<ChunkKey> ChunksOf(const Manifest& manifest);

/// Reads the manifest `key` from a store, and returns load(manifest), which fetches chunks from there. If the manifest
/// or a chunk is damaged, all damaged ones are dropped, so that saving again repairs the snapshot.
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

/// Loads the snapshot whose manifest has this key, in blocks of `pool`. Errors: kNotFound for a missing manifest or
/// chunk; kFailedPrecondition for another identity, Config or kv_type, naming which; kDataLoss, kUnsupported for bytes
/// that are damaged or of another version; kOutOfRange, kResourceExhausted for the pool's limits; kInvalidArgument for
/// a null pool. Damaged chunks of the snapshot are dropped from the store, so that saving the conversation again
/// repairs it. `executor` checks and places as many chunks at once as it has workers.
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
