// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/snapshot_writer.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_WRITER_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_WRITER_H_

#include "skald/store/snapshots/snapshot_writer.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/text/message.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_repair.h"
#include "skald/store/snapshots/whole_state.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<StateKind> StateKindOf(const BlockPool& pool, const Identity& identity, ChunkCodec codec) {
  if (!pool.has_bytes()) return BlockPool::FailNoBytes();
  const DType kv_type = pool.runtime().kv_type;
  if (codec == ChunkCodec::kInt8Zstd && kv_type == DType::kI8) {
    return Fail(ErrorCode::kInvalidArgument,
                "the codec kInt8Zstd rounds keys and values, but those of kv_type I8 are rounded already: "
                "expected kSplitZstd or kNone");
  }
  SKALD_ASSIGN(auto digests, IdentityDigests::Of(identity));
  SKALD_ASSIGN(const auto layout, WholeLayout(pool));
  return StateKind{digests, layout.Fingerprint(), kv_type, codec == ChunkCodec::kInt8Zstd};
}

SKALD_INLINE Result<void> CheckAdapter(const KVCache& cache, const Identity& identity) {
  if (cache.adapter() == identity.adapter) return {};
  return Fail(ErrorCode::kFailedPrecondition,
              Concat({"the cache is for the adapter ", ShortHex(cache.adapter()), ", but Identity::adapter is ",
                      ShortHex(identity.adapter), " (zeros: none)"}));
}

SKALD_INLINE Result<ChunkKey> ManifestKey(std::span<const std::byte> manifest) {
  SKALD_ASSIGN(const auto digest, Sha256().Update("skald manifest").Update(manifest).Finish());
  return ChunkKey{digest};
}

SKALD_INLINE Result<ChunkBytes> EncodeManifestChunk(const ChunkKey& key, std::span<const std::byte> manifest) {
  auto chunk = EncodeChunk(key, {ChunkKind::kManifest}, manifest);
  if (!chunk || manifest.size() <= MaxManifestContent(chunk->size())) return chunk;
  return EncodeChunk(key, {ChunkKind::kManifest, ChunkElement::kBytes, ChunkCodec::kNone}, manifest);
}

SKALD_INLINE void OutgoingChunk::Begin(const SnapshotPlan& plan, const PlannedChunk& chunk) {
  plan_ = &plan;
  chunk_ = &chunk;
  content_bytes_ = plan.ContentBytes(chunk);
  place_ = {};
}

SKALD_INLINE std::optional<uint64_t> OutgoingChunk::stored_bytes() const {
  if (chunk_->format.codec != ChunkCodec::kNone) return std::nullopt;
  return kChunkHeaderBytes + content_bytes_;
}

SKALD_INLINE void OutgoingChunk::Encode(const StateSource& state) {
  stored_ = NoThrow("encoding a chunk", [&]() -> Result<std::span<const std::byte>> {
    std::span<std::byte> target = place_;
    if (!is_in_place()) {
      room_.resize(kChunkHeaderBytes + static_cast<size_t>(content_bytes_));
      target = room_;
    }
    SKALD_TRY(state.With([&](const KVCache&) -> Result<void> {
      plan_->ReadContent(*chunk_, target.data() + kChunkHeaderBytes);
      return {};
    }));
    return EncodeChunkInPlace(chunk_->key, chunk_->format, target, encoded_);
  });
}

SKALD_INLINE Result<bool> StoreTarget::Wants(const ChunkKey& key, uint64_t content_bytes) {
  keys_.push_back(key);
  SKALD_ASSIGN(const auto has, HasWholeChunk(store_, key, content_bytes));
  return !has;
}

SKALD_INLINE Result<void> StoreTarget::Take(const ChunkKey& key, std::span<const std::byte> stored, bool /*in_place*/) {
  return store_.Put(key, stored);
}

SKALD_INLINE Result<void> StoreTarget::CheckAllKept(const ChunkKey& manifest) const {
  for (const ChunkKey& key : keys_) {
    SKALD_ASSIGN(const auto has, store_.Has(key));
    if (has) continue;
    SKALD_TRY(store_.Drop(manifest));
    return Fail(ErrorCode::kResourceExhausted,
                "the store has no room for the snapshot: it dropped chunk " + key.ToHex() + " to take the others");
  }
  return {};
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_WRITER_H_
