// SPDX-License-Identifier: Apache-2.0
//
// Damaged chunks heal: whoever meets one drops it, and whoever has its content writes it again, as if it had never been
// there. A look at length and header, which costs little, finds files that were cut short, are empty or hold something
// else; it is taken before a chunk is relied upon. Damage behind an intact header is found by the checksum, when the
// chunk is read.

#ifndef SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
#define SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::internal {

// Whether `store` holds chunk `key`, with `content_bytes` bytes of content, as far as its length and header tell. What
// is there and is not that chunk is dropped. A store that cannot show the front of a value is believed.
inline Result<bool> HasWholeChunk(ChunkStoreRef store, const ChunkKey& key, uint64_t content_bytes) {
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
  if (auto dropped = store.Drop(key); !dropped) return Failure(dropped.error());
  return false;
}

// Drops each of `keys` whose chunk is damaged; reads all of them. What the store refuses meanwhile changes nothing:
// this is called when something else has failed already.
inline void DropDamagedChunks(ChunkStoreRef store, std::span<const ChunkKey> keys) {
  for (const ChunkKey& key : keys) {
    const auto stored = store.Get(key);
    const bool is_damaged = stored ? !DecodeChunk(key, *stored) : stored.error().code == ErrorCode::kDataLoss;
    if (is_damaged) (void)store.Drop(key);
  }
}

}  // namespace skald::internal

#endif  // SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
