// SPDX-License-Identifier: Apache-2.0
//
// Encodes a chunk's content as the bytes that a store keeps, and decodes them with all checks. CHUNK_FORMAT.md
// describes the format. Decoding gives the same content on any machine (with the lossy codec, not the original
// content); the stored bytes may differ between versions of zstd.

#ifndef SKALD_STORE_CHUNKS_CHUNK_CODEC_H_
#define SKALD_STORE_CHUNKS_CHUNK_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// A chunk that was read and checked.
struct DecodedChunk {
  ChunkHeader header;  ///< as it was written
  ChunkBytes content;  ///< after the codec
};

/// Returns `content` as a store keeps it. Errors: kInvalidArgument for more than kMaxChunkContent bytes, for a length
/// that is not a whole number of elements, or for elements that the lossy codec cannot represent (bytes, infinities,
/// NaN); kResourceExhausted.
Result<ChunkBytes> EncodeChunk(const ChunkKey& key, const ChunkFormat& format, std::span<const std::byte> content);

/// The same for content that is already in `room`, after kChunkHeaderBytes bytes. Returns the stored bytes: `room`
/// itself if the codec leaves content unchanged, else what it put into `encoded`.
Result<std::span<const std::byte>> EncodeChunkInPlace(const ChunkKey& key, const ChunkFormat& format,
                                                      std::span<std::byte> room, ChunkBytes& encoded);

/// Decodes the stored bytes of chunk `key` into `content`, which must have exactly the chunk's length; after an error
/// its bytes are unspecified. Errors as ReadChunkHeader; kDataLoss also for a chunk of another length.
Result<ChunkHeader> DecodeChunkInto(const ChunkKey& key, std::span<const std::byte> chunk,
                                    std::span<std::byte> content);

/// The same without a copy if there is nothing to decode: returns the chunk's `content_bytes` bytes, which are in
/// `chunk` itself or in `decoded`. kDataLoss for a chunk of any other length.
Result<std::span<const std::byte>> ViewChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                             uint64_t content_bytes, ChunkBytes& decoded);

/// DecodeChunkInto for a caller that does not know the chunk's length, with a limit on it.
Result<DecodedChunk> DecodeChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                 uint64_t max_content_bytes = kMaxChunkContent);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_codec.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_CODEC_H_
