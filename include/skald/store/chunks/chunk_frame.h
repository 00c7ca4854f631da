// SPDX-License-Identifier: Apache-2.0
//
// The frame around a stored chunk: a header of 72 bytes that describes the payload, and a checksum that shows damage to
// either. CHUNK_FORMAT.md in this folder describes it byte by byte. The one header that needs xxHash.

#ifndef SKALD_STORE_CHUNKS_CHUNK_FRAME_H_
#define SKALD_STORE_CHUNKS_CHUNK_FRAME_H_

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

static_assert(std::endian::native == std::endian::little,
              "Chunks are little-endian, and numbers are copied as they are in memory.");

inline constexpr uint16_t kChunkFormatVersion = 1;
inline constexpr size_t kChunkHeaderBytes = 72;
/// Largest content of a chunk, in bytes. Its stored form is smaller than kMaxChunkBytes with any codec.
inline constexpr uint64_t kMaxChunkContent = uint64_t{256} << 20;

/// The numbers of these enumerations are part of the format.
enum class ChunkKind : uint8_t {
  kTokens = 1,       ///< state that a run of tokens added to a cache
  kResumePoint = 2,  ///< state after all tokens before a position
  kManifest = 3,     ///< a snapshot's table of contents
  kPointer = 4,      ///< the key of a manifest
  kTranscript = 5,   ///< token ids of a text; a server stores the tokenisation of its answers so
};

enum class ChunkElement : uint8_t { kBytes = 0, kF32 = 1, kF16 = 2, kBF16 = 3, kI8 = 4 };

enum class ChunkCodec : uint8_t {
  kNone = 0,       ///< unchanged
  kSplitZstd = 1,  ///< byte planes, then zstd
  kInt8Zstd = 2,   ///< lossy: values rounded to int8 in groups with a scale, then zstd
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

/// How one chunk is written; the writer chooses.
struct ChunkFormat {
  ChunkKind kind = ChunkKind::kTokens;          ///< what the content is
  ChunkElement element = ChunkElement::kBytes;  ///< what it consists of
  ChunkCodec codec = ChunkCodec::kSplitZstd;    ///< how it is made smaller

  friend bool operator==(const ChunkFormat&, const ChunkFormat&) = default;
};

/// The first bytes of a chunk (CHUNK_FORMAT.md).
struct ChunkHeader {
  ChunkFormat format;          ///< read from the chunk
  uint64_t content_bytes = 0;  ///< before the codec
  uint64_t payload_bytes = 0;  ///< after it: the bytes that follow the header
  ChunkKey key;                ///< that the chunk was written for
};

namespace internal {

/// Offset of each field of the header.
inline constexpr size_t kMagicAt = 0, kVersionAt = 8, kKindAt = 10, kCodecAt = 11, kElementAt = 12, kReservedAt = 13,
                        kContentBytesAt = 16, kPayloadBytesAt = 24, kKeyAt = 32, kChecksumAt = 64;

inline constexpr uint64_t kChunkMagic = 0x6B68'4364'6C61'6B53;  ///< "SkaldChk"

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

/// Covers the header except the checksum itself, and the payload.
uint64_t ChunkChecksum(std::span<const std::byte> chunk);

Failure DamagedChunk(const ChunkKey& key, const std::string& what);

std::string ExpectedFound(const std::string& name, uint64_t expected, uint64_t found);

/// Fills in the header at the front of `chunk`, whose payload is complete.
void WriteChunkHeader(const ChunkKey& key, const ChunkFormat& format, uint64_t content_bytes,
                      std::span<std::byte> chunk);

}  // namespace internal

/// Reads the header alone, from the first kChunkHeaderBytes bytes of a stored chunk, to tell what the chunk claims to
/// be. Detects only damage that makes the header inconsistent. Errors as ReadChunkHeader.
Result<ChunkHeader> PeekChunkHeader(const ChunkKey& key, std::span<const std::byte> front);

/// Reads and checks the frame of a whole stored chunk, the payload's checksum included. After success, the payload was
/// written by EncodeChunk for `key`, unless a checksum was forged. Errors: kDataLoss for bytes that are not a chunk,
/// are cut short or damaged, or are not the chunk `key`; kUnsupported for another version of the format; kOutOfRange
/// for more than `max_content_bytes` of content.
Result<ChunkHeader> ReadChunkHeader(const ChunkKey& key, std::span<const std::byte> chunk,
                                    uint64_t max_content_bytes = kMaxChunkContent);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_frame.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_FRAME_H_
