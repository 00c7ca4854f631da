// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/chunks/chunk_codec.h.

#ifndef SKALD_STORE_CHUNKS_DETAIL_CHUNK_CODEC_H_
#define SKALD_STORE_CHUNKS_DETAIL_CHUNK_CODEC_H_

#include "skald/store/chunks/chunk_codec.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/store/chunks/detail/byte_planes.h"
#include "skald/store/chunks/detail/int8_groups.h"
#include "skald/store/chunks/detail/packed_parts.h"

namespace skald {

namespace internal {

// Bytes cut into `count` parts of equal length, at most four.
template <class Byte>
struct EqualParts {
  EqualParts(std::span<Byte> bytes, size_t number) : count(number) {
    const size_t each = bytes.size() / count;
    for (size_t i = 0; i < count; ++i) parts[i] = bytes.subspan(i * each, each);
  }
  std::span<const std::span<Byte>> all() const { return std::span(parts).first(count); }

  std::array<std::span<Byte>, 4> parts;
  size_t count;
};

inline void AppendSplit(std::span<const std::byte> content, size_t element_bytes, ChunkBytes& out) {
  ChunkBytes planes(content.size());
  SplitPlanes(content, element_bytes, planes);
  AppendPacked(EqualParts<const std::byte>(planes, element_bytes).all(), out);
}

inline std::string ReadSplit(std::span<const std::byte> payload, size_t element_bytes, std::span<std::byte> content) {
  if (element_bytes == 1) return Unpack(payload, {&content, 1});  // there is nothing to join
  ChunkBytes planes(content.size());
  std::string complaint = Unpack(payload, EqualParts<std::byte>(planes, element_bytes).all());
  if (complaint.empty()) JoinPlanes(planes, element_bytes, content);
  return complaint;
}

// Fills `content`, which has the length in `header`, from the payload of `chunk`.
inline Result<void> DecodePayload(const ChunkHeader& header, std::span<const std::byte> chunk,
                                  std::span<std::byte> content) {
  const auto payload = chunk.subspan(kChunkHeaderBytes);
  std::string complaint;
  switch (header.format.codec) {
    case ChunkCodec::kNone:
      if (payload.size() == content.size())
        std::copy(payload.begin(), payload.end(), content.begin());
      else
        complaint = ExpectedFound("bytes of content", content.size(), payload.size());
      break;
    case ChunkCodec::kSplitZstd:
      complaint = ReadSplit(payload, SizeOf(header.format.element), content);
      break;
    case ChunkCodec::kInt8Zstd:
      complaint = ReadInt8(payload, header.format.element, content);
      break;
  }
  if (!complaint.empty()) return DamagedChunk(header.key, complaint);
  return {};
}

}  // namespace internal

SKALD_INLINE Result<ChunkBytes> EncodeChunk(const ChunkKey& key, const ChunkFormat& format,
                                            std::span<const std::byte> content) {
  return NoThrow("encoding a chunk", [&]() -> Result<ChunkBytes> {
    if (content.size() > kMaxChunkContent) {
      return Fail(ErrorCode::kInvalidArgument, "a chunk of " + std::to_string(content.size()) +
                                                   " bytes, the format allows " + std::to_string(kMaxChunkContent));
    }
    const size_t element_bytes = SizeOf(format.element);
    if (content.size() % element_bytes != 0) {
      return Fail(ErrorCode::kInvalidArgument, "a chunk of " + std::to_string(content.size()) +
                                                   " bytes, expected a whole number of elements of " +
                                                   std::to_string(element_bytes));
    }
    ChunkBytes chunk;
    chunk.reserve(kChunkHeaderBytes + element_bytes * sizeof(uint64_t) + content.size());
    chunk.resize(kChunkHeaderBytes);
    std::string complaint;
    switch (format.codec) {
      case ChunkCodec::kNone:
        chunk.insert(chunk.end(), content.begin(), content.end());
        break;
      case ChunkCodec::kSplitZstd:
        internal::AppendSplit(content, element_bytes, chunk);
        break;
      case ChunkCodec::kInt8Zstd:
        complaint = internal::AppendInt8(content, format.element, chunk);
        break;
    }
    if (!complaint.empty()) return Fail(ErrorCode::kInvalidArgument, "chunk " + key.ToHex() + ": " + complaint);
    internal::WriteChunkHeader(key, format, content.size(), chunk);
    return chunk;
  });
}

SKALD_INLINE Result<std::span<const std::byte>> EncodeChunkInPlace(const ChunkKey& key, const ChunkFormat& format,
                                                                   std::span<std::byte> room, ChunkBytes& encoded) {
  const auto content = room.subspan(kChunkHeaderBytes);
  const bool is_valid = content.size() <= kMaxChunkContent && content.size() % SizeOf(format.element) == 0;
  if (format.codec == ChunkCodec::kNone && is_valid) {
    internal::WriteChunkHeader(key, format, content.size(), room);
    return room;
  }
  SKALD_ASSIGN(auto chunk, EncodeChunk(key, format, content));
  encoded = std::move(chunk);
  return encoded;
}

SKALD_INLINE Result<ChunkHeader> DecodeChunkInto(const ChunkKey& key, std::span<const std::byte> chunk,
                                                 std::span<std::byte> content) {
  return NoThrow("decoding a chunk", [&]() -> Result<ChunkHeader> {
    SKALD_ASSIGN(auto header, ReadChunkHeader(key, chunk, content.size()));
    if (header.content_bytes != content.size()) {
      return internal::DamagedChunk(key,
                                    internal::ExpectedFound("bytes of content", content.size(), header.content_bytes));
    }
    SKALD_TRY(internal::DecodePayload(header, chunk, content));
    return header;
  });
}

SKALD_INLINE Result<std::span<const std::byte>> ViewChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                                          uint64_t content_bytes, ChunkBytes& decoded) {
  return NoThrow("decoding a chunk", [&]() -> Result<std::span<const std::byte>> {
    SKALD_ASSIGN(const auto header, ReadChunkHeader(key, chunk));
    if (header.content_bytes != content_bytes) {
      return internal::DamagedChunk(key,
                                    internal::ExpectedFound("bytes of content", content_bytes, header.content_bytes));
    }
    if (header.payload_bytes == content_bytes && header.format.codec == ChunkCodec::kNone) {
      return chunk.subspan(kChunkHeaderBytes);
    }
    decoded.resize(static_cast<size_t>(content_bytes));
    SKALD_TRY(DecodeChunkInto(key, chunk, decoded));
    return decoded;
  });
}

SKALD_INLINE Result<DecodedChunk> DecodeChunk(const ChunkKey& key, std::span<const std::byte> chunk,
                                              uint64_t max_content_bytes) {
  return NoThrow("decoding a chunk", [&]() -> Result<DecodedChunk> {
    SKALD_ASSIGN(const auto header, ReadChunkHeader(key, chunk, max_content_bytes));
    ChunkBytes content(static_cast<size_t>(header.content_bytes));
    SKALD_TRY(internal::DecodePayload(header, chunk, content));
    return DecodedChunk{header, std::move(content)};
  });
}

}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_DETAIL_CHUNK_CODEC_H_
