// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: a conversation written down, and taken up again where it stood, with the same bits: in another process, on
// another machine or SIMD target, with other block sizes and threads. To a ChunkStore a snapshot is a manifest and
// chunks named by what they hold, so saving again writes only what is new and conversations share what they have in
// common. To a sink or buffer it is the same in one piece. SNAPSHOT_FORMAT.md describes the bytes.
//
// Saving reads the cache only; to go on generating meanwhile, save a Fork in another thread. Loading makes a new cache
// from fresh blocks; an error leaves nothing behind. The weights' identity is the caller's to name (identity.h).

#ifndef SKALD_STORE_SNAPSHOT_H_
#define SKALD_STORE_SNAPSHOT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/byte_io.h"
#include "skald/store/chunk_codec.h"
#include "skald/store/chunk_key.h"
#include "skald/store/chunk_store.h"
#include "skald/store/identity.h"
#include "skald/store/manifest.h"
#include "skald/store/snapshot_loader.h"
#include "skald/store/snapshot_plan.h"

namespace skald {

struct SnapshotOptions {
  // kNone is fastest. kInt8Zstd is lossy for keys and values: smaller, and what follows is no longer bit-identical.
  ChunkCodec codec = ChunkCodec::kSplitZstd;
};

struct Snapshot {
  KVCache cache;
  SnapshotNotes notes;
};

namespace internal {

inline constexpr uint64_t kStreamMagic = 0x706E'5364'6C61'6B53;  // "SkaldSnp"
inline constexpr uint32_t kStreamVersion = 1;
inline constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;
// Bytes by which a stored chunk may exceed its content: the header, and lengths of compressed parts.
inline constexpr uint64_t kMaxChunkOverhead = kChunkHeaderBytes + 1024;

// What opens a snapshot in one piece; then come the manifest and the chunks, each after its length.
struct StreamHeader {
  uint64_t magic = kStreamMagic;
  uint32_t version = kStreamVersion;
  uint32_t reserved = 0;
  ChunkKey manifest;
};

inline Result<StateKind> StateKindOf(const BlockPool& pool, const Identity& identity, ChunkCodec codec) {
  auto digests = IdentityDigests::Of(identity);
  if (!digests) return Failure(digests.error());
  return StateKind{*digests, pool.fingerprint(), pool.runtime().kv_type, codec == ChunkCodec::kInt8Zstd};
}

inline Result<ChunkKey> ManifestKey(std::span<const std::byte> manifest) {
  const auto digest = Sha256().Update("skald manifest").Update(manifest).Finish();
  if (!digest) return Failure(digest.error());
  return ChunkKey{*digest};
}

// Hands the manifest, then every chunk to `emit(key, encode)`, where encode() returns the chunk's stored bytes, valid
// until the next call; manifest last if `manifest_last`. Returns the manifest's key.
template <class Emit>
Result<ChunkKey> EmitSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                              const SnapshotOptions& options, bool manifest_last, Emit emit) {
  const auto contents = cache.Contents();
  if (!contents) return Failure(contents.error());
  const auto kind = StateKindOf(*cache.pool(), identity, options.codec);
  if (!kind) return Failure(kind.error());
  const auto plan = SnapshotPlan::Make(*contents, *kind, notes, options.codec);
  if (!plan) return Failure(plan.error());
  const std::vector<std::byte> manifest = EncodeManifest(plan->manifest());
  const auto key = ManifestKey(manifest);
  if (!key) return key;
  const auto emit_manifest = [&] {
    return emit(*key, [&] { return EncodeChunk(*key, {ChunkKind::kManifest}, manifest); });
  };
  if (!manifest_last) {
    if (auto done = emit_manifest(); !done) return Failure(done.error());
  }
  ChunkBytes room, encoded;  // used again, as most chunks have the same size
  for (const PlannedChunk& chunk : plan->chunks()) {
    const auto encode = [&] {
      room.resize(kChunkHeaderBytes + static_cast<size_t>(plan->ContentBytes(chunk)));
      plan->ReadContent(chunk, room.data() + kChunkHeaderBytes);
      return EncodeChunkInPlace(chunk.key, chunk.format, room, encoded);
    };
    if (auto done = emit(chunk.key, encode); !done) return Failure(done.error());
  }
  if (manifest_last) {
    if (auto done = emit_manifest(); !done) return Failure(done.error());
  }
  return key;
}

inline Result<Manifest> OpenManifest(const ChunkKey& key, std::span<const std::byte> stored, const Identity& identity,
                                     const BlockPool& pool) {
  const auto kind = StateKindOf(pool, identity, ChunkCodec::kNone);
  if (!kind) return Failure(kind.error());
  auto chunk = DecodeChunk(key, stored);
  if (!chunk) return Annotate("the snapshot's manifest", chunk);
  if (chunk->header.format.kind != ChunkKind::kManifest) {
    return Fail(ErrorCode::kInvalidArgument, "chunk " + key.ToHex() + " is not a snapshot's manifest");
  }
  auto manifest = DecodeManifest(chunk->content, *kind, pool.layout());
  if (!manifest) return manifest;
  if (manifest->tokens.size() > pool.runtime().max_tokens) {
    return Fail(ErrorCode::kOutOfRange, "the snapshot holds " + std::to_string(manifest->tokens.size()) +
                                            " tokens, the pool allows " + std::to_string(pool.runtime().max_tokens) +
                                            " (RuntimeConfig::max_tokens)");
  }
  return manifest;
}

template <class Fetch>
Result<Snapshot> BuildSnapshot(Manifest manifest, std::shared_ptr<BlockPool> pool, Fetch fetch) {
  auto cache = SnapshotLoader<Fetch>(std::move(pool), std::move(fetch)).Load(manifest);
  if (!cache) return Failure(cache.error());
  return Snapshot{std::move(*cache), std::move(manifest.notes)};
}

// Any source with BufferSource's Take. Memory grows with what really comes, and is used again.
class SourceReader {
 public:
  explicit SourceReader(ByteSourceRef source) : source_(source) {}

  Result<void> Read(std::span<std::byte> bytes) const { return source_.Read(bytes); }

  // Valid until the next call.
  Result<std::span<const std::byte>> Take(uint64_t count) {
    uint64_t taken = 0;
    while (taken < count) {
      const uint64_t part = std::min(count - taken, std::max(taken, uint64_t{4} << 20));
      if (buffer_.size() < taken + part) buffer_.resize(static_cast<size_t>(taken + part));
      if (auto read = source_.Read(std::span(buffer_).subspan(taken, part)); !read) return Failure(read.error());
      taken += part;
    }
    return std::span<const std::byte>(buffer_).first(static_cast<size_t>(count));
  }

 private:
  ByteSourceRef source_;
  ChunkBytes buffer_;
};

// Reads a chunk's length, at most `max_bytes`, and the chunk as stored. Reader: SourceReader or BufferSource.
template <class Reader>
Result<std::span<const std::byte>> ReadFrame(Reader& reader, uint64_t max_bytes) {
  uint64_t size = 0;
  if (auto read = reader.Read(std::as_writable_bytes(std::span(&size, 1))); !read) return Failure(read.error());
  if (size > max_bytes) {
    return Fail(ErrorCode::kDataLoss, "the snapshot has a chunk of " + std::to_string(size) +
                                          " bytes, expected at most " + std::to_string(max_bytes));
  }
  return reader.Take(size);
}

template <class Reader>
Result<Snapshot> ReadSnapshot(Reader& reader, const Identity& identity, std::shared_ptr<BlockPool> pool) {
  StreamHeader header;
  if (auto read = reader.Read(std::as_writable_bytes(std::span(&header, 1))); !read) return Failure(read.error());
  if (header.magic != kStreamMagic) {
    return Fail(ErrorCode::kDataLoss, "this is not a snapshot: it does not begin with 'SkaldSnp'");
  }
  if (header.version != kStreamVersion || header.reserved != 0) {
    return Fail(ErrorCode::kUnsupported, "the snapshot has version " + std::to_string(header.version) +
                                             ", this Skald reads version " + std::to_string(kStreamVersion));
  }
  const auto stored = ReadFrame(reader, kMaxManifestBytes);
  if (!stored) return Failure(stored.error());
  auto manifest = OpenManifest(header.manifest, *stored, identity, *pool);
  if (!manifest) return Failure(manifest.error());
  const auto next = [&reader](const ChunkKey&, uint64_t content_bytes) {
    return ReadFrame(reader, content_bytes + kMaxChunkOverhead);
  };
  return BuildSnapshot(std::move(*manifest), std::move(pool), next);
}

}  // namespace internal

// Writes what the store does not have yet, the manifest last, and returns the manifest's key, by which to load.
// Errors: the store's; kResourceExhausted, also where a store with a limit had to drop some of the snapshot's chunks to
// take the others.
inline Result<ChunkKey> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                     ChunkStoreRef store, const SnapshotOptions& options = {}) {
  return NoThrow("SaveSnapshot", [&]() -> Result<ChunkKey> {
    std::vector<ChunkKey> keys;
    const auto put = [&](const ChunkKey& key, auto encode) -> Result<void> {
      keys.push_back(key);
      const auto has = store.Has(key);
      if (!has) return Failure(has.error());
      if (*has) return {};
      const auto chunk = encode();
      if (!chunk) return Failure(chunk.error());
      return store.Put(key, *chunk);
    };
    const auto manifest = internal::EmitSnapshot(cache, identity, notes, options, /*manifest_last=*/true, put);
    if (!manifest) return manifest;
    for (const ChunkKey& key : keys) {
      const auto has = store.Has(key);
      if (!has) return Failure(has.error());
      if (*has) continue;
      if (auto dropped = store.Drop(*manifest); !dropped) return Failure(dropped.error());
      return Fail(ErrorCode::kResourceExhausted, "the store has no room for the snapshot: it dropped chunk " +
                                                     key.ToHex() + " to take the others");
    }
    return manifest;
  });
}

// Writes everything to a sink. What a sink took before an error is of no use.
inline Result<void> SaveSnapshot(const KVCache& cache, const Identity& identity, const SnapshotNotes& notes,
                                 ByteSinkRef sink, const SnapshotOptions& options = {}) {
  bool opened = false;
  const auto write = [&](const ChunkKey& key, auto encode) -> Result<void> {
    if (!std::exchange(opened, true)) {  // the manifest comes first
      const internal::StreamHeader header{.manifest = key};
      if (auto done = sink.Write(std::as_bytes(std::span(&header, 1))); !done) return done;
    }
    const auto chunk = encode();
    if (!chunk) return Failure(chunk.error());
    const uint64_t size = chunk->size();
    if (auto done = sink.Write(std::as_bytes(std::span(&size, 1))); !done) return done;
    return sink.Write(*chunk);
  };
  return NoThrow("SaveSnapshot", [&]() -> Result<void> {
    const auto key = internal::EmitSnapshot(cache, identity, notes, options, /*manifest_last=*/false, write);
    if (!key) return Failure(key.error());
    return {};
  });
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
  return SaveSnapshot(cache, identity, notes, ByteSinkRef(sink), options);
}

// Takes up the snapshot whose manifest has this key, in blocks of `pool`. Errors: kNotFound for a missing manifest or
// chunk; kFailedPrecondition for another identity, Config or kv_type, naming which; kDataLoss, kUnsupported for bytes
// that are damaged or of another version; kOutOfRange, kResourceExhausted for the pool's limits.
inline Result<Snapshot> LoadSnapshot(ChunkStoreRef store, const ChunkKey& key, const Identity& identity,
                                     std::shared_ptr<BlockPool> pool) {
  return NoThrow("LoadSnapshot", [&]() -> Result<Snapshot> {
    const auto stored = store.Get(key);
    if (!stored) return Annotate("the snapshot's manifest", stored);
    auto manifest = internal::OpenManifest(key, *stored, identity, *pool);
    if (!manifest) return Failure(manifest.error());
    const auto get = [&store](const ChunkKey& chunk, uint64_t) { return store.Get(chunk); };
    return internal::BuildSnapshot(std::move(*manifest), std::move(pool), get);
  });
}

// The same from a source, which is read to the snapshot's end and no further.
inline Result<Snapshot> LoadSnapshot(ByteSourceRef source, const Identity& identity, std::shared_ptr<BlockPool> pool) {
  return NoThrow("LoadSnapshot", [&]() -> Result<Snapshot> {
    internal::SourceReader reader(source);
    return internal::ReadSnapshot(reader, identity, std::move(pool));
  });
}

// The same from bytes in memory.
inline Result<Snapshot> LoadSnapshot(std::span<const std::byte> bytes, const Identity& identity,
                                     std::shared_ptr<BlockPool> pool) {
  return NoThrow("LoadSnapshot", [&]() -> Result<Snapshot> {
    BufferSource reader(bytes);
    return internal::ReadSnapshot(reader, identity, std::move(pool));
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOT_H_
