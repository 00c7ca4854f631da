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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_codec.h"
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

// Bytes by which a stored chunk may exceed its content: the header, and lengths of compressed parts.
inline constexpr uint64_t kMaxChunkOverhead = kChunkHeaderBytes + 1024;
inline constexpr uint64_t kMaxManifestBytes = kMaxChunkContent + kMaxChunkOverhead;

inline Result<Manifest> OpenManifest(const ChunkKey& key, std::span<const std::byte> stored, const Identity& identity,
                                     const BlockPool& pool) {
  const auto kind = StateKindOf(pool, identity, ChunkCodec::kNone);
  if (!kind) return Failure(kind.error());
  auto chunk = DecodeChunk(key, stored, MaxManifestContent(stored.size()));
  if (!chunk && chunk.error().code == ErrorCode::kOutOfRange) {
    return Fail(ErrorCode::kDataLoss, "the snapshot's manifest: " + chunk.error().message);
  }
  if (!chunk) return Annotate("the snapshot's manifest", chunk);
  if (chunk->header.format.kind != ChunkKind::kManifest) {
    return Fail(ErrorCode::kInvalidArgument, "chunk " + key.ToHex() + " is not a snapshot's manifest");
  }
  const auto layout = WholeLayout(pool);
  if (!layout) return Failure(layout.error());
  return DecodeManifest(chunk->content, *kind, *layout, pool.runtime().max_tokens);
}

template <class Fetch>
Result<Snapshot> BuildSnapshot(Manifest manifest, std::shared_ptr<BlockPool> pool, Fetch fetch,
                               std::optional<ExecutorRef> executor = {}) {
  auto cache = LoadWhole(pool, [&](const std::shared_ptr<BlockPool>& whole) {
    return SnapshotLoader<Fetch>(whole, std::move(fetch), executor).Load(manifest);
  });
  if (!cache) return Failure(cache.error());
  return Snapshot{std::move(*cache), std::move(manifest.notes)};
}

// Takes bytes from any source. Memory grows with what really comes, and is used again.
class SourceReader {
 public:
  explicit SourceReader(ByteSourceRef source) : source_(source) {}

  Result<void> Read(std::span<std::byte> bytes) const { return source_.Read(bytes); }

  // The next `count` bytes, put into `room`.
  Result<std::span<const std::byte>> Take(uint64_t count, ChunkBytes& room) {
    uint64_t taken = 0;
    while (taken < count) {
      const uint64_t part = std::min(count - taken, std::max(taken, uint64_t{1} << 20));
      if (room.size() < taken + part) room.resize(static_cast<size_t>(taken + part));
      if (auto read = source_.Read(std::span(room).subspan(taken, part)); !read) return Failure(read.error());
      taken += part;
    }
    return std::span<const std::byte>(room).first(static_cast<size_t>(count));
  }

 private:
  ByteSourceRef source_;
};

// The same from bytes in memory, where nothing need be copied.
class BufferReader {
 public:
  explicit BufferReader(std::span<const std::byte> bytes) : source_(bytes) {}

  Result<void> Read(std::span<std::byte> bytes) { return source_.Read(bytes); }
  Result<std::span<const std::byte>> Take(uint64_t count, ChunkBytes& /*room*/) { return source_.Take(count); }

 private:
  BufferSource source_;
};

// Reads a chunk's length, at most `max_bytes`, and the chunk as stored. Reader: SourceReader or BufferReader.
template <class Reader>
Result<std::span<const std::byte>> ReadFrame(Reader& reader, uint64_t max_bytes, ChunkBytes& room) {
  uint64_t size = 0;
  if (auto read = reader.Read(std::as_writable_bytes(std::span(&size, 1))); !read) return Failure(read.error());
  if (size > max_bytes) {
    return Fail(ErrorCode::kDataLoss, "the snapshot has a chunk of " + std::to_string(size) +
                                          " bytes, expected at most " + std::to_string(max_bytes));
  }
  return reader.Take(size, room);
}

template <class Reader>
Result<Snapshot> ReadSnapshot(Reader reader, const Identity& identity, std::shared_ptr<BlockPool> pool,
                              std::optional<ExecutorRef> executor) {
  StreamHeader header;
  if (auto read = reader.Read(std::as_writable_bytes(std::span(&header, 1))); !read) return Failure(read.error());
  if (header.magic != kStreamMagic) {
    return Fail(ErrorCode::kDataLoss, "this is not a snapshot: it does not begin with 'SkaldSnp'");
  }
  if (header.version != kStreamVersion || header.reserved != 0) {
    return Fail(ErrorCode::kUnsupported, "the snapshot has version " + std::to_string(header.version) +
                                             ", this Skald reads version " + std::to_string(kStreamVersion));
  }
  ChunkBytes room;
  const auto stored = ReadFrame(reader, kMaxManifestBytes, room);
  if (!stored) return Failure(stored.error());
  auto manifest = OpenManifest(header.manifest, *stored, identity, *pool);
  if (!manifest) return Failure(manifest.error());
  const auto next = [&reader](const ChunkKey&, uint64_t content_bytes, ChunkBytes& chunk) {
    return ReadFrame(reader, content_bytes + kMaxChunkOverhead, chunk);
  };
  return BuildSnapshot(std::move(*manifest), std::move(pool), next, executor);
}

}  // namespace internal

// Writes what the store does not have yet, the manifest last, and returns the manifest's key, by which to load. What
// the store has is looked at, and written again where its length or header is not that of the chunk. Errors: the
// store's; kFailedPrecondition for a cache that was moved from, that is for another adapter than the identity says, or
// whose pool has no bytes; kResourceExhausted, also where a store with a limit had to drop some of the snapshot's
// chunks to take the others. Of a cache that may be revoked (state_source.h) it also fails where that happens.
inline Result<ChunkKey> SaveSnapshot(const StateSource& state, const Identity& identity, const SnapshotNotes& notes,
                                     ChunkStoreRef store, const SnapshotOptions& options = {}) {
  return NoThrow("SaveSnapshot", [&]() -> Result<ChunkKey> {
    internal::StoreTarget target(store);
    const auto manifest = internal::EmitSnapshot(state, identity, notes, options, /*manifest_last=*/true, target);
    if (!manifest) return manifest;
    if (auto kept = target.CheckAllKept(*manifest); !kept) return Failure(kept.error());
    return manifest;
  });
}

namespace internal {

template <class Sink>
Result<void> SaveStream(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes, Sink& sink,
                        const SnapshotOptions& options) {
  return NoThrow("SaveSnapshot", [&]() -> Result<void> {
    StreamTarget<Sink> target(sink);
    const auto key = EmitSnapshot(cache, identity, notes, options, /*manifest_last=*/false, target);
    if (!key) return Failure(key.error());
    return {};
  });
}

}  // namespace internal

// Writes everything to a sink. What a sink took before an error is of no use.
inline Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                 ByteSinkRef sink, const SnapshotOptions& options = {}) {
  return internal::SaveStream(cache, identity, notes, sink, options);
}

// Returns how many bytes SaveSnapshot writes to a sink or a buffer. With a compressing codec it compresses to know.
inline Result<uint64_t> SnapshotBytes(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                      const SnapshotOptions& options = {}) {
  CountingSink sink;
  if (auto saved = SaveSnapshot(cache, identity, notes, ByteSinkRef(sink), options); !saved) {
    return Failure(saved.error());
  }
  return sink.bytes();
}

// Writes everything to the front of `buffer`. Error: kResourceExhausted for one smaller than SnapshotBytes.
inline Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                 std::span<std::byte> buffer, const SnapshotOptions& options = {}) {
  BufferSink sink(buffer);
  return internal::SaveStream(cache, identity, notes, sink, options);
}

namespace internal {

template <class Load>
Result<Snapshot> LoadInto(const std::shared_ptr<BlockPool>& pool, Load load) {
  if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "LoadSnapshot: the pool is null");
  return NoThrow("LoadSnapshot", load);
}

// The keys of all chunks that a manifest names.
inline std::vector<ChunkKey> ChunksOf(const Manifest& manifest) {
  std::vector<ChunkKey> keys;
  const auto add = [&keys](const SavedTable& table) {
    for (const SavedGroup& group : table.groups) keys.insert(keys.end(), group.chunks.begin(), group.chunks.end());
  };
  add(manifest.table);
  for (const SavedTable& checkpoint : manifest.checkpoints) add(checkpoint);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Reads the manifest `key` from a store, and returns load(manifest), which fetches chunks from there. Where one of them
// is damaged, or the manifest is, all that are go, so that saving again heals the snapshot.
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

// Fetches chunks from a store for a SnapshotLoader.
inline auto FetchFrom(ChunkStoreRef store) {
  return [store](const ChunkKey& key, uint64_t, ChunkBytes& room) -> Result<std::span<const std::byte>> {
    auto chunk = store.Get(key);
    if (!chunk) return Failure(chunk.error());
    room = std::move(*chunk);
    return room;
  };
}

}  // namespace internal

// Takes up the snapshot whose manifest has this key, in blocks of `pool`. Errors: kNotFound for a missing manifest or
// chunk; kFailedPrecondition for another identity, Config or kv_type, naming which; kDataLoss, kUnsupported for bytes
// that are damaged or of another version; kOutOfRange, kResourceExhausted for the pool's limits; kInvalidArgument for a
// null pool. Damaged chunks of the snapshot are dropped from the store: who has the conversation can save it again.
// `executor` checks and places as many chunks at once as it has workers.
inline Result<Snapshot> LoadSnapshot(ChunkStoreRef store, const ChunkKey& key, const Identity& identity,
                                     std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor = {}) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    const auto build = [&](const Manifest& manifest) {
      return internal::BuildSnapshot(manifest, pool, internal::FetchFrom(store), executor);
    };
    return internal::LoadFromStore(store, key, identity, *pool, build);
  });
}

// The same from a source, which is read to the snapshot's end and no further.
inline Result<Snapshot> LoadSnapshot(ByteSourceRef source, const Identity& identity, std::shared_ptr<BlockPool> pool,
                                     std::optional<ExecutorRef> executor = {}) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    return internal::ReadSnapshot(internal::SourceReader(source), identity, pool, executor);
  });
}

// The same from bytes in memory.
inline Result<Snapshot> LoadSnapshot(std::span<const std::byte> bytes, const Identity& identity,
                                     std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor = {}) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    return internal::ReadSnapshot(internal::BufferReader(bytes), identity, pool, executor);
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_SNAPSHOT_H_
