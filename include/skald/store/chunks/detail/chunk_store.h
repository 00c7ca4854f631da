// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/chunks/chunk_store.h.

#ifndef SKALD_STORE_CHUNKS_DETAIL_CHUNK_STORE_H_
#define SKALD_STORE_CHUNKS_DETAIL_CHUNK_STORE_H_

#include "skald/store/chunks/chunk_store.h"

#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<void> ChunkStoreRef::Put(const ChunkKey& key, std::span<const std::byte> value) const {
  return calls_->put(store_, key, value);
}

SKALD_INLINE Failure ChunkNotFound(const ChunkKey& key) {
  auto failed = NoThrow(
      "a chunk", [&]() -> Result<void> { return Fail(ErrorCode::kNotFound, "there is no chunk " + key.ToHex()); });
  return Failure(std::move(failed.error()));
}

SKALD_INLINE Result<void> CheckChunkSize(const ChunkKey& key, uint64_t bytes) {
  if (bytes <= kMaxChunkBytes) return {};
  return NoThrow("a chunk", [&]() -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "chunk " + key.ToHex() + " has " + std::to_string(bytes) +
                                                 " bytes, a store takes at most " + std::to_string(kMaxChunkBytes));
  });
}

}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_DETAIL_CHUNK_STORE_H_
