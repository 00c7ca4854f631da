// SPDX-License-Identifier: Apache-2.0
//
// Writes a chunk's content as the bytes that a store keeps, and reads them back, trusting none of them. The format is
// described in CHUNK_FORMAT.md. The same content and format give the same content back on any machine (with the lossy
// codec not what went in); the stored bytes may differ between versions of zstd.

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

struct DecodedChunk {
  ChunkHeader header;
  ChunkBytes content;
};

/// Returns `content` as a store keeps it. Errors: kInvalidArgument for more than kMaxChunkContent bytes, no whole
/// number of elements, or what the lossy codec has no form for (bytes, infinities, NaN); kResourceExhausted.
Result<ChunkBytes> EncodeChunk(const ChunkKey& key, const ChunkFormat& format, std::span<const std::byte> content);

/// The same for content that stands in `room` already, behind kChunkHeaderBytes bytes. Returns the stored bytes: `room`
/// itself where the codec leaves content as it is, else what is put into `encoded`.
Result<std::span<const std::byte>> EncodeChunkInPlace(const ChunkKey& key, const ChunkFormat& format,
                                                      std::span<std::byte> room, ChunkBytes& encoded);

/// Reads the stored bytes of chunk `key` into `content`, which must have the chunk's length exactly; after an error its
/// bytes are unspecified. Errors as ReadChunkHeader; kDataLoss also for a chunk of another length.
Result<ChunkHeader> DecodeChunkInto(const ChunkKey& key, std::span<const std::byte> chunk,
                                    std::span<std::byte> content);

/// The same without a copy where there is nothing to decode: returns the chunk's `content_bytes` bytes, which stand in
/// `chunk` itself or in `decoded`. kDataLoss for a chunk of any other length.
Result<std::span<const std::byte>> ViewChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                             uint64_t content_bytes, ChunkBytes& decoded);

/// DecodeChunkInto for a reader who does not know the chunk's length, with a limit to it.
Result<DecodedChunk> DecodeChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                 uint64_t max_content_bytes = kMaxChunkContent);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_codec.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_CODEC_H_
