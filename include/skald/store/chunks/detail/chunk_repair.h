// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/chunks/chunk_repair.h.

#ifndef SKALD_STORE_CHUNKS_DETAIL_CHUNK_REPAIR_H_
#define SKALD_STORE_CHUNKS_DETAIL_CHUNK_REPAIR_H_

#include "skald/store/chunks/chunk_repair.h"

#include "skald/base/inline.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<bool> HasWholeChunk(ChunkStoreRef store, const ChunkKey& key, uint64_t content_bytes) {
  if (!store.has_front()) return store.Has(key);
  const auto found = store.Front(key, kChunkHeaderBytes);
  if (!found && found.error().code == ErrorCode::kNotFound) return false;
  if (!found && found.error().code != ErrorCode::kDataLoss) return Failure(found.error());
  if (found) {
    const auto header = PeekChunkHeader(key, found->front);
    const bool is_whole =
        header && header->payload_bytes == found->bytes - kChunkHeaderBytes && header->content_bytes == content_bytes;
    if (is_whole) return true;
  }
  SKALD_TRY(store.Drop(key));
  return false;
}

SKALD_INLINE void DropDamagedChunks(ChunkStoreRef store, std::span<const ChunkKey> keys) {
  for (const ChunkKey& key : keys) {
    const auto stored = store.Get(key);
    const bool is_damaged = stored ? !DecodeChunk(key, *stored) : stored.error().code == ErrorCode::kDataLoss;
    if (is_damaged) (void)store.Drop(key);
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_DETAIL_CHUNK_REPAIR_H_
