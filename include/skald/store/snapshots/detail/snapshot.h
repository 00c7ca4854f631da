// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/snapshot.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_H_

#include "skald/store/snapshots/snapshot.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

namespace internal {

// Bytes by which a stored chunk may exceed its content: the header, and lengths of compressed parts.
inline constexpr uint64_t kMaxChunkOverhead = kChunkHeaderBytes + 1024;

inline constexpr uint64_t kMaxManifestBytes = kMaxChunkContent + kMaxChunkOverhead;

SKALD_INLINE Result<Manifest> OpenManifest(const ChunkKey& key, std::span<const std::byte> stored,
                                           const Identity& identity, const BlockPool& pool) {
  SKALD_ASSIGN(const auto kind, StateKindOf(pool, identity, ChunkCodec::kNone));
  auto chunk = DecodeChunk(key, stored, MaxManifestContent(stored.size()));
  if (!chunk && chunk.error().code == ErrorCode::kOutOfRange) {
    return Fail(ErrorCode::kDataLoss, "the snapshot's manifest: " + chunk.error().message);
  }
  if (!chunk) return Annotate("the snapshot's manifest", chunk);
  if (chunk->header.format.kind != ChunkKind::kManifest) {
    return Fail(ErrorCode::kInvalidArgument, "chunk " + key.ToHex() + " is not a snapshot's manifest");
  }
  SKALD_ASSIGN(const auto layout, WholeLayout(pool));
  return DecodeManifest(chunk->content, kind, layout, pool.runtime().max_tokens);
}

// Reads bytes from any source. Memory grows only with bytes that have arrived, and is reused.
class SourceReader {
 public:
  explicit SourceReader(ByteSourceRef source) : source_(source) {}

  Result<void> Read(std::span<std::byte> bytes) const { return source_.Read(bytes); }

  // Reads the next `count` bytes into `room`.
  Result<std::span<const std::byte>> Take(uint64_t count, ChunkBytes& room) {
    uint64_t taken = 0;
    while (taken < count) {
      const uint64_t part = std::min(count - taken, std::max(taken, uint64_t{1} << 20));
      if (room.size() < taken + part) room.resize(static_cast<size_t>(taken + part));
      SKALD_TRY(source_.Read(std::span(room).subspan(taken, part)));
      taken += part;
    }
    return std::span<const std::byte>(room).first(static_cast<size_t>(count));
  }

 private:
  ByteSourceRef source_;
};

// The same from bytes in memory, without a copy.
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
  SKALD_TRY(reader.Read(std::as_writable_bytes(std::span(&size, 1))));
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
  SKALD_TRY(reader.Read(std::as_writable_bytes(std::span(&header, 1))));
  if (header.magic != kStreamMagic) {
    return Fail(ErrorCode::kDataLoss, "this is not a snapshot: it does not begin with 'SkaldSnp'");
  }
  if (header.version != kStreamVersion || header.reserved != 0) {
    return Fail(ErrorCode::kUnsupported, "the snapshot has version " + std::to_string(header.version) +
                                             ", this Skald reads version " + std::to_string(kStreamVersion));
  }
  ChunkBytes room;
  SKALD_ASSIGN(const auto stored, ReadFrame(reader, kMaxManifestBytes, room));
  SKALD_ASSIGN(auto manifest, OpenManifest(header.manifest, stored, identity, *pool));
  const auto next = [&reader](const ChunkKey&, uint64_t content_bytes, ChunkBytes& chunk) {
    return ReadFrame(reader, content_bytes + kMaxChunkOverhead, chunk);
  };
  return BuildSnapshot(std::move(manifest), std::move(pool), next, executor);
}

}  // namespace internal

SKALD_INLINE Result<ChunkKey> SaveSnapshot(const StateSource& state, const Identity& identity,
                                           const SnapshotNotes& notes, ChunkStoreRef store,
                                           const SnapshotOptions& options) {
  return NoThrow("SaveSnapshot", [&]() -> Result<ChunkKey> {
    internal::StoreTarget target(store);
    SKALD_ASSIGN(const auto manifest,
                 internal::EmitSnapshot(state, identity, notes, options, /*manifest_last=*/true, target));
    SKALD_TRY(target.CheckAllKept(manifest));
    return manifest;
  });
}

namespace internal {

template <class Sink>
Result<void> SaveStream(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes, Sink& sink,
                        const SnapshotOptions& options) {
  return NoThrow("SaveSnapshot", [&]() -> Result<void> {
    StreamTarget<Sink> target(sink);
    SKALD_TRY(EmitSnapshot(cache, identity, notes, options, /*manifest_last=*/false, target));
    return {};
  });
}

}  // namespace internal

SKALD_INLINE Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                       ByteSinkRef sink, const SnapshotOptions& options) {
  return internal::SaveStream(cache, identity, notes, sink, options);
}

SKALD_INLINE Result<uint64_t> SnapshotBytes(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                            const SnapshotOptions& options) {
  CountingSink sink;
  if (auto saved = SaveSnapshot(cache, identity, notes, ByteSinkRef(sink), options); !saved) {
    return Failure(saved.error());
  }
  return sink.bytes();
}

SKALD_INLINE Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                       std::span<std::byte> buffer, const SnapshotOptions& options) {
  BufferSink sink(buffer);
  return internal::SaveStream(cache, identity, notes, sink, options);
}

namespace internal {

template <class Load>
Result<Snapshot> LoadInto(const std::shared_ptr<BlockPool>& pool, Load load) {
  if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "LoadSnapshot: the pool is null");
  return NoThrow("LoadSnapshot", load);
}

SKALD_INLINE std::vector<ChunkKey> ChunksOf(const Manifest& manifest) {
  std::vector<ChunkKey> keys;
  const auto add = [&keys](const SavedTable& table) {
    for (const SavedGroup& group : table.groups) keys.insert(keys.end(), group.chunks.begin(), group.chunks.end());
  };
  add(manifest.table);
  for (const SavedTable& resume_point : manifest.resume_points) add(resume_point);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace internal

SKALD_INLINE Result<Snapshot> LoadSnapshot(ChunkStoreRef store, const ChunkKey& key, const Identity& identity,
                                           std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    const auto build = [&](const Manifest& manifest) {
      return internal::BuildSnapshot(manifest, pool, internal::FetchFrom(store), executor);
    };
    return internal::LoadFromStore(store, key, identity, *pool, build);
  });
}

SKALD_INLINE Result<Snapshot> LoadSnapshot(ByteSourceRef source, const Identity& identity,
                                           std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    return internal::ReadSnapshot(internal::SourceReader(source), identity, pool, executor);
  });
}

SKALD_INLINE Result<Snapshot> LoadSnapshot(std::span<const std::byte> bytes, const Identity& identity,
                                           std::shared_ptr<BlockPool> pool, std::optional<ExecutorRef> executor) {
  return internal::LoadInto(pool, [&]() -> Result<Snapshot> {
    return internal::ReadSnapshot(internal::BufferReader(bytes), identity, pool, executor);
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_H_
