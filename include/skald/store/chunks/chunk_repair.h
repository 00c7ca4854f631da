// SPDX-License-Identifier: Apache-2.0
//
// Repair of damaged chunks: a reader that finds one drops it, and the next caller with its content writes it again as a
// new chunk. Checking length and header is cheap and finds files that were cut short, are empty or hold something else;
// it happens before a chunk is relied upon. The checksum finds damage after an intact header, when the chunk is read.

#ifndef SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
#define SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_

#include <cstdint>
#include <span>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::internal {

/// Whether `store` holds chunk `key`, with `content_bytes` bytes of content, as far as its length and header tell. A
/// value that is not that chunk is dropped. If a store cannot show the front of a value, Has decides.
Result<bool> HasWholeChunk(ChunkStoreRef store, const ChunkKey& key, uint64_t content_bytes);

/// Drops each of `keys` whose chunk is damaged; reads all of them. Ignores errors of the store: this is called after
/// something else has failed.
void DropDamagedChunks(ChunkStoreRef store, std::span<const ChunkKey> keys);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_repair.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_REPAIR_H_
