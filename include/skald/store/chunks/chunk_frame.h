// SPDX-License-Identifier: Apache-2.0
//
// The frame around a stored chunk: a header of 72 bytes that says what the payload is and proves that neither was
// damaged. CHUNK_FORMAT.md beside this file describes it byte by byte. The one header that needs xxHash.

#ifndef SKALD_STORE_CHUNKS_CHUNK_FRAME_H_
#define SKALD_STORE_CHUNKS_CHUNK_FRAME_H_

#include <xxhash.h>
#if defined(__x86_64__) && defined(__linux__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same hash by the widest vectors at hand
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

static_assert(std::endian::native == std::endian::little, "Chunks are little-endian and are written as they lie.");

inline constexpr uint16_t kChunkFormatVersion = 1;
inline constexpr size_t kChunkHeaderBytes = 72;
// Largest content of a chunk, in bytes. Stored in any codec it is smaller than kMaxChunkBytes.
inline constexpr uint64_t kMaxChunkContent = uint64_t{256} << 20;

// The numbers of these enumerations are part of the format.
enum class ChunkKind : uint8_t {
  kTokens = 1,      // what a run of tokens added to a cache
  kCheckpoint = 2,  // state that stands for all tokens before a position
  kManifest = 3,    // a snapshot's table of contents
  kPointer = 4,     // the key of a manifest
  kTranscript = 5,  // ids of a text's tokens, as a server remembers how an answer was spelled
};

enum class ChunkElement : uint8_t { kBytes = 0, kF32 = 1, kF16 = 2, kBF16 = 3, kI8 = 4 };

enum class ChunkCodec : uint8_t {
  kNone = 0,       // as it is
  kSplitZstd = 1,  // the bytes of each significance apart, then zstd
  kInt8Zstd = 2,   // lossy: values rounded to int8 in groups with a scale, then zstd
};

constexpr size_t SizeOf(ChunkElement element) {
  switch (element) {
    case ChunkElement::kF32:
      return 4;
    case ChunkElement::kF16:
    case ChunkElement::kBF16:
      return 2;
    default:
      return 1;
  }
}

constexpr ChunkElement ChunkElementOf(DType type) {
  switch (type) {
    case DType::kF32:
      return ChunkElement::kF32;
    case DType::kF16:
      return ChunkElement::kF16;
    case DType::kI8:
      return ChunkElement::kI8;
    default:
      return ChunkElement::kBF16;
  }
}

// How one chunk is written: the writer's choice.
struct ChunkFormat {
  ChunkKind kind = ChunkKind::kTokens;
  ChunkElement element = ChunkElement::kBytes;
  ChunkCodec codec = ChunkCodec::kSplitZstd;

  friend bool operator==(const ChunkFormat&, const ChunkFormat&) = default;
};

struct ChunkHeader {
  ChunkFormat format;
  uint64_t content_bytes = 0;  // before the codec
  uint64_t payload_bytes = 0;  // after it: what follows the header
  ChunkKey key;
};

namespace internal {

// Where each field of the header begins.
inline constexpr size_t kMagicAt = 0, kVersionAt = 8, kKindAt = 10, kCodecAt = 11, kElementAt = 12, kReservedAt = 13,
                        kContentBytesAt = 16, kPayloadBytesAt = 24, kKeyAt = 32, kChecksumAt = 64;

inline constexpr uint64_t kChunkMagic = 0x6B68'4364'6C61'6B53;  // "SkaldChk"

template <class T>
T LoadAt(std::span<const std::byte> bytes, size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void StoreAt(std::span<std::byte> bytes, size_t offset, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Covers the header but for the checksum itself, and the payload.
inline uint64_t ChunkChecksum(std::span<const std::byte> chunk) {
  const uint64_t header = XXH3_64bits(chunk.data(), kChecksumAt);
  return XXH3_64bits_withSeed(chunk.data() + kChunkHeaderBytes, chunk.size() - kChunkHeaderBytes, header);
}

inline Failure DamagedChunk(const ChunkKey& key, const std::string& what) {
  return Fail(ErrorCode::kDataLoss, "chunk " + key.ToHex() + " is damaged: " + what);
}

inline std::string ExpectedFound(const std::string& name, uint64_t expected, uint64_t found) {
  return name + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

// Checks that bytes with a valid checksum say something that this version understands.
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
                                 " bytes of content are no whole number of elements of " +
                                 std::to_string(SizeOf(element)) + " bytes");
  }
  return {};
}

// Reads the header at the front of `chunk`, and checks only that it is one of this version.
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

// Fills in the header at the front of `chunk`, whose payload is complete.
inline void WriteChunkHeader(const ChunkKey& key, const ChunkFormat& format, uint64_t content_bytes,
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

// Reads the header alone, from the first kChunkHeaderBytes bytes of a stored chunk, to tell what the chunk claims to
// be. Damage is noticed only where it makes no sense. Errors as ReadChunkHeader.
inline Result<ChunkHeader> PeekChunkHeader(const ChunkKey& key, std::span<const std::byte> front) {
  return NoThrow("a chunk", [&]() -> Result<ChunkHeader> {
    auto header = internal::LoadChunkHeader(key, front);
    if (!header) return header;
    if (header->key != key) return internal::DamagedChunk(key, "it holds chunk " + header->key.ToHex());
    if (auto valid = internal::CheckChunkFields(*header, front, key); !valid) return Failure(valid.error());
    return header;
  });
}

// Reads and checks the frame of a whole stored chunk, the payload's checksum included. After it, the payload is what
// EncodeChunk wrote for `key` or for a caller who forged a checksum. Errors: kDataLoss for what is no chunk, cut short,
// damaged, or not the chunk `key`; kUnsupported for one of another version of the format; kOutOfRange for one with more
// than `max_content_bytes` of content.
inline Result<ChunkHeader> ReadChunkHeader(const ChunkKey& key, std::span<const std::byte> chunk,
                                           uint64_t max_content_bytes = kMaxChunkContent) {
  using namespace internal;  // NOLINT: the offsets
  return NoThrow("a chunk", [&]() -> Result<ChunkHeader> {
    auto loaded = LoadChunkHeader(key, chunk);
    if (!loaded) return loaded;
    const ChunkHeader& header = *loaded;
    if (const uint64_t follows = chunk.size() - kChunkHeaderBytes; header.payload_bytes != follows) {
      return DamagedChunk(key, ExpectedFound("bytes after the header", header.payload_bytes, follows));
    }
    const uint64_t expected = LoadAt<uint64_t>(chunk, kChecksumAt), found = ChunkChecksum(chunk);
    if (expected != found) return DamagedChunk(key, ExpectedFound("checksum", expected, found));
    if (header.key != key) return DamagedChunk(key, "it holds chunk " + header.key.ToHex());
    if (auto valid = CheckChunkFields(header, chunk, key); !valid) return Failure(valid.error());
    if (header.content_bytes > max_content_bytes) {
      return Fail(ErrorCode::kOutOfRange, "chunk " + key.ToHex() + " has " + std::to_string(header.content_bytes) +
                                              " bytes of content, the limit is " + std::to_string(max_content_bytes));
    }
    return loaded;
  });
}

}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_CHUNK_FRAME_H_
