// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/chunks/chunk_frame.h.

#ifndef SKALD_STORE_CHUNKS_DETAIL_CHUNK_FRAME_H_
#define SKALD_STORE_CHUNKS_DETAIL_CHUNK_FRAME_H_

#include "skald/store/chunks/chunk_frame.h"

#include <xxhash.h>

#if defined(__x86_64__) && defined(__linux__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same hash with the widest available vectors
#endif

#include "skald/base/aligned_buffer.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

namespace internal {

SKALD_INLINE uint64_t ChunkChecksum(std::span<const std::byte> chunk) {
  const uint64_t header = XXH3_64bits(chunk.data(), kChecksumAt);
  return XXH3_64bits_withSeed(chunk.data() + kChunkHeaderBytes, chunk.size() - kChunkHeaderBytes, header);
}

SKALD_INLINE Failure DamagedChunk(const ChunkKey& key, const std::string& what) {
  return Fail(ErrorCode::kDataLoss, "chunk " + key.ToHex() + " is damaged: " + what);
}

SKALD_INLINE std::string ExpectedFound(const std::string& name, uint64_t expected, uint64_t found) {
  return name + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

// Checks that bytes with a valid checksum have a meaning in this version.
inline Result<void> CheckChunkFields(const ChunkHeader& header, std::span<const std::byte> chunk, const ChunkKey& key) {
  const auto unknown = [&key](const char* field, auto value) {
    return Fail(ErrorCode::kUnsupported, "chunk " + key.ToHex() + " has the " + field + " " +
                                             std::to_string(static_cast<int>(value)) +
                                             ", which this version of Skald does not know");
  };
  const auto& [kind, element, codec] = header.format;
  if (kind < ChunkKind::kTokens || kind > ChunkKind::kTranscript) return unknown("kind", kind);
  if (codec > ChunkCodec::kInt8Zstd) return unknown("codec", codec);
  if (element > ChunkElement::kI8) return unknown("element type", element);
  for (size_t i = kReservedAt; i < kContentBytesAt; ++i) {
    if (chunk[i] != std::byte{0}) return unknown("reserved byte", chunk[i]);
  }
  if (header.content_bytes % SizeOf(element) != 0) {
    return DamagedChunk(key, std::to_string(header.content_bytes) +
                                 " bytes of content are not a whole number of elements of " +
                                 std::to_string(SizeOf(element)) + " bytes");
  }
  return {};
}

// Reads the header at the front of `chunk`, and checks only that it is of this version.
inline Result<ChunkHeader> LoadChunkHeader(const ChunkKey& key, std::span<const std::byte> chunk) {
  if (chunk.size() < kChunkHeaderBytes) {
    return DamagedChunk(key, "expected at least " + std::to_string(kChunkHeaderBytes) + " bytes, found " +
                                 std::to_string(chunk.size()));
  }
  if (LoadAt<uint64_t>(chunk, kMagicAt) != kChunkMagic) return DamagedChunk(key, "it does not begin with 'SkaldChk'");
  if (const auto version = LoadAt<uint16_t>(chunk, kVersionAt); version != kChunkFormatVersion) {
    return Fail(ErrorCode::kUnsupported,
                "chunk " + key.ToHex() + " has the " + ExpectedFound("format version", kChunkFormatVersion, version));
  }
  ChunkHeader header;
  header.format = {LoadAt<ChunkKind>(chunk, kKindAt), LoadAt<ChunkElement>(chunk, kElementAt),
                   LoadAt<ChunkCodec>(chunk, kCodecAt)};
  header.content_bytes = LoadAt<uint64_t>(chunk, kContentBytesAt);
  header.payload_bytes = LoadAt<uint64_t>(chunk, kPayloadBytesAt);
  header.key = LoadAt<ChunkKey>(chunk, kKeyAt);
  return header;
}

SKALD_INLINE void WriteChunkHeader(const ChunkKey& key, const ChunkFormat& format, uint64_t content_bytes,
                                   std::span<std::byte> chunk) {
  StoreAt(chunk, kMagicAt, kChunkMagic);
  StoreAt(chunk, kVersionAt, kChunkFormatVersion);
  StoreAt(chunk, kKindAt, format.kind);
  StoreAt(chunk, kCodecAt, format.codec);
  StoreAt(chunk, kElementAt, format.element);
  for (size_t i = kReservedAt; i < kContentBytesAt; ++i) chunk[i] = std::byte{0};
  StoreAt(chunk, kContentBytesAt, content_bytes);
  StoreAt(chunk, kPayloadBytesAt, uint64_t{chunk.size() - kChunkHeaderBytes});
  StoreAt(chunk, kKeyAt, key);
  StoreAt(chunk, kChecksumAt, ChunkChecksum(chunk));
}

}  // namespace internal

SKALD_INLINE Result<ChunkHeader> PeekChunkHeader(const ChunkKey& key, std::span<const std::byte> front) {
  return NoThrow("a chunk", [&]() -> Result<ChunkHeader> {
    SKALD_ASSIGN(auto header, internal::LoadChunkHeader(key, front));
    if (header.key != key) return internal::DamagedChunk(key, "it holds chunk " + header.key.ToHex());
    SKALD_TRY(internal::CheckChunkFields(header, front, key));
    return header;
  });
}

SKALD_INLINE Result<ChunkHeader> ReadChunkHeader(const ChunkKey& key, std::span<const std::byte> chunk,
                                                 uint64_t max_content_bytes) {
  using namespace internal;  // NOLINT: the offsets
  return NoThrow("a chunk", [&]() -> Result<ChunkHeader> {
    SKALD_ASSIGN(auto loaded, LoadChunkHeader(key, chunk));
    const ChunkHeader& header = loaded;
    if (const uint64_t follows = chunk.size() - kChunkHeaderBytes; header.payload_bytes != follows) {
      return DamagedChunk(key, ExpectedFound("bytes after the header", header.payload_bytes, follows));
    }
    const uint64_t expected = LoadAt<uint64_t>(chunk, kChecksumAt), found = ChunkChecksum(chunk);
    if (expected != found) return DamagedChunk(key, ExpectedFound("checksum", expected, found));
    if (header.key != key) return DamagedChunk(key, "it holds chunk " + header.key.ToHex());
    SKALD_TRY(CheckChunkFields(header, chunk, key));
    if (header.content_bytes > max_content_bytes) {
      return Fail(ErrorCode::kOutOfRange, "chunk " + key.ToHex() + " has " + std::to_string(header.content_bytes) +
                                              " bytes of content, the limit is " + std::to_string(max_content_bytes));
    }
    return loaded;
  });
}

}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_DETAIL_CHUNK_FRAME_H_
