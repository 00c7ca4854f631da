// SPDX-License-Identifier: Apache-2.0
//
// Damaged chunks heal: whoever meets one drops it, and whoever has its content writes it again, as if it had never been
// there. A look at length and header, which costs little, finds files that were cut short, are empty or hold something
// else; it is taken before a chunk is relied upon. Damage behind an intact header is found by the checksum, when the
// chunk is read.

#ifndef SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
#define SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_

#include <cstdint>
#include <span>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::internal {

/// Whether `store` holds chunk `key`, with `content_bytes` bytes of content, as far as its length and header tell. What
/// is there and is not that chunk is dropped. A store that cannot show the front of a value is believed.
Result<bool> HasWholeChunk(ChunkStoreRef store, const ChunkKey& key, uint64_t content_bytes);

/// Drops each of `keys` whose chunk is damaged; reads all of them. What the store refuses meanwhile changes nothing:
/// this is called when something else has failed already.
void DropDamagedChunks(ChunkStoreRef store, std::span<const ChunkKey> keys);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_repair.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
