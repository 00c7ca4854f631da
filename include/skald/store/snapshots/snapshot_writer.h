// SPDX-License-Identifier: Apache-2.0
//
// The writing half of snapshots: the chunks of a plan one after another, encoded by several workers at once if the
// caller provides them.

#ifndef SKALD_STORE_SNAPSHOTS_SNAPSHOT_WRITER_H_
#define SKALD_STORE_SNAPSHOTS_SNAPSHOT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/run_on.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/manifest.h"
#include "skald/store/snapshots/snapshot_plan.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

/// How state is written.
struct SnapshotOptions {
  /// kNone is fastest. kInt8Zstd is lossy for keys and values: smaller, and later results are no longer bit-identical.
  /// A cache of int8 codes has nothing to round, and refuses it (kInvalidArgument).
  ChunkCodec codec = ChunkCodec::kSplitZstd;
  /// Encodes as many chunks at once as it has workers, with memory for each; without one the calling thread does all.
  /// The written bytes are the same.
  std::optional<ExecutorRef> executor = {};
};

namespace internal {

Result<StateKind> StateKindOf(const BlockPool& pool, const Identity& identity, ChunkCodec codec);

/// State is named after the adapter that it was computed with.
Result<void> CheckAdapter(const KVCache& cache, const Identity& identity);

Result<ChunkKey> ManifestKey(std::span<const std::byte> manifest);

/// The most bytes of a manifest's content if its chunk has `stored_bytes`: part of the format. It keeps a small file
/// from making a reader allocate much memory. A manifest that compresses to less is stored uncompressed.
constexpr uint64_t MaxManifestContent(uint64_t stored_bytes) { return (uint64_t{256} << 10) + 64 * stored_bytes; }

Result<ChunkBytes> EncodeManifestChunk(const ChunkKey& key, std::span<const std::byte> manifest);

/// A chunk that is written. Its memory is reused for later ones.
class OutgoingChunk {
 public:
  void Begin(const SnapshotPlan& plan, const PlannedChunk& chunk);

  const ChunkKey& key() const { return chunk_->key; }
  uint64_t content_bytes() const { return content_bytes_; }
  /// Known before encoding if the codec leaves the content unchanged.
  std::optional<uint64_t> stored_bytes() const;

  /// Encodes it directly at its destination, stored_bytes() of memory.
  void SetPlace(std::span<std::byte> place) { place_ = place; }
  bool is_in_place() const { return !place_.empty(); }

  void Encode(const StateSource& state);

  /// The result of Encode, valid until its next call.
  const Result<std::span<const std::byte>>& stored() const { return stored_; }

 private:
  const SnapshotPlan* plan_ = nullptr;
  const PlannedChunk* chunk_ = nullptr;
  uint64_t content_bytes_ = 0;
  std::span<std::byte> place_;
  ChunkBytes room_, encoded_;
  Result<std::span<const std::byte>> stored_;
};

/// Chunks go to a target with
///   Result<bool> Wants(key, content bytes)           whether it must be encoded at all
///   Result<std::span<std::byte>> Place(stored bytes) where to encode the next one, or nothing
///   Result<void> Take(key, stored bytes, in place)   in the order in which they were wanted
template <class Target>
class ChunkEmitter {
 public:
  ChunkEmitter(const SnapshotPlan& plan, const StateSource& state, std::optional<ExecutorRef> executor, Target& target)
      : plan_(plan), state_(state), executor_(executor), target_(target), chunks_(WorkersOf(executor)) {}

  /// Emits the chunks of the plan in their order.
  Result<void> EmitAll() {
    std::span<const PlannedChunk> rest = plan_.chunks();
    while (!rest.empty()) {
      size_t wanted = 0;
      for (; !rest.empty() && wanted < chunks_.size(); rest = rest.subspan(1)) {
        SKALD_ASSIGN(const auto is_wanted, Begin(rest.front(), chunks_[wanted]));
        wanted += is_wanted;
      }
      RunOn(executor_, wanted, [this](size_t i) { chunks_[i].Encode(state_); });
      for (size_t i = 0; i < wanted; ++i) {
        const auto& stored = chunks_[i].stored();
        if (!stored) return Failure(stored.error());
        SKALD_TRY(target_.Take(chunks_[i].key(), *stored, chunks_[i].is_in_place()));
      }
    }
    return {};
  }

 private:
  // Either all chunks of a plan have a place or none, as they have one codec: places are given in the plan's order.
  Result<bool> Begin(const PlannedChunk& planned, OutgoingChunk& chunk) {
    chunk.Begin(plan_, planned);
    SKALD_TRY(state_.Check());
    const auto wanted = target_.Wants(chunk.key(), chunk.content_bytes());
    if (!wanted || !*wanted || !chunk.stored_bytes()) return wanted;
    SKALD_ASSIGN(const auto place, target_.Place(*chunk.stored_bytes()));
    chunk.SetPlace(place);
    return true;
  }

  const SnapshotPlan& plan_;
  const StateSource& state_;
  const std::optional<ExecutorRef> executor_;
  Target& target_;
  std::vector<OutgoingChunk> chunks_;
};

/// Passes the manifest and every chunk to `target`, the manifest last if `manifest_last`, else first. Returns its key.
template <class Target>
Result<ChunkKey> EmitSnapshot(const StateSource& source, const Identity& identity, const SnapshotNotes& notes,
                              const SnapshotOptions& options, bool manifest_last, Target& target) {
  std::optional<KVCache> whole;  // of a pool that has one rank's part
  SKALD_ASSIGN(const auto plan, source.With([&](const KVCache& cache) -> Result<SnapshotPlan> {
    if (!cache.is_valid()) return Failure(cache.Contents().error());
    SKALD_TRY(CheckAdapter(cache, identity));
    SKALD_ASSIGN(const auto kind, StateKindOf(*cache.pool(), identity, options.codec));
    if (BlockPeers* const peers = cache.pool()->peers().get()) {
      SKALD_ASSIGN(auto gathered, peers->Gather(cache));
      whole = std::move(gathered);
    }
    return SnapshotPlan::Make(whole ? *whole : cache, kind, notes, options.codec);
  }));
  const StateSource state = whole ? StateSource(*whole) : source;
  const std::vector<std::byte> manifest = EncodeManifest(plan.manifest());
  SKALD_ASSIGN(const auto key, ManifestKey(manifest));
  const auto emit_manifest = [&]() -> Result<void> {
    SKALD_ASSIGN(const auto wanted, target.Wants(key, manifest.size()));
    if (!wanted) return {};
    SKALD_ASSIGN(const auto chunk, EncodeManifestChunk(key, manifest));
    return target.Take(key, chunk, /*in_place=*/false);
  };
  if (!manifest_last) {
    SKALD_TRY(emit_manifest());
  }
  SKALD_TRY(ChunkEmitter(plan, state, options.executor, target).EmitAll());
  if (manifest_last) {
    SKALD_TRY(emit_manifest());
  }
  return key;
}

/// The first bytes of a snapshot in one piece; then come the manifest and the chunks, each after its length.
inline constexpr uint64_t kStreamMagic = 0x706E'5364'6C61'6B53;  ///< "SkaldSnp"
inline constexpr uint32_t kStreamVersion = 1;
struct StreamHeader {
  uint64_t magic = kStreamMagic;
  uint32_t version = kStreamVersion;
  uint32_t reserved = 0;
  ChunkKey manifest;
};

/// Puts the chunks that a store does not have yet.
class StoreTarget {
 public:
  explicit StoreTarget(ChunkStoreRef store) : store_(store) {}

  Result<bool> Wants(const ChunkKey& key, uint64_t content_bytes);
  static Result<std::span<std::byte>> Place(uint64_t /*stored_bytes*/) { return std::span<std::byte>(); }
  Result<void> Take(const ChunkKey& key, std::span<const std::byte> stored, bool /*in_place*/);

  /// Refuses a snapshot of which the store has dropped chunks to take others.
  Result<void> CheckAllKept(const ChunkKey& manifest) const;

 private:
  ChunkStoreRef store_;
  std::vector<ChunkKey> keys_;
};

/// Writes a stream to a ByteSink. If the sink has Reserve(count), which returns memory for the next bytes, chunks are
/// encoded there.
template <class Sink>
class StreamTarget {
 public:
  explicit StreamTarget(Sink& sink) : sink_(sink) {}

  static Result<bool> Wants(const ChunkKey& /*key*/, uint64_t /*content_bytes*/) { return true; }

  Result<std::span<std::byte>> Place(uint64_t stored_bytes) {
    if constexpr (requires { sink_.Reserve(stored_bytes); }) {
      SKALD_TRY(WriteLength(stored_bytes));
      return sink_.Reserve(stored_bytes);
    } else {
      return std::span<std::byte>();
    }
  }

  Result<void> Take(const ChunkKey& key, std::span<const std::byte> stored, bool in_place) {
    if (!std::exchange(opened_, true)) {  // the manifest comes first
      const StreamHeader header{.manifest = key};
      SKALD_TRY(sink_.Write(std::as_bytes(std::span(&header, 1))));
    }
    if (in_place) return {};
    SKALD_TRY(WriteLength(stored.size()));
    return sink_.Write(stored);
  }

 private:
  Result<void> WriteLength(uint64_t size) { return sink_.Write(std::as_bytes(std::span(&size, 1))); }

  Sink& sink_;
  bool opened_ = false;
};

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/snapshot_writer.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_SNAPSHOT_WRITER_H_
