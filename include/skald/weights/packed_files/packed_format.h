// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a packed file: a header, and a table of contents. PACKED_FORMAT.md describes them byte by byte.
// Reading them checks everything except the bytes of the attachments and parameters.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/result.h"

namespace skald {

/// The first bytes of a packed file, in this machine's order of bytes.
struct PackedHeader {
  static constexpr std::array<char, 8> kMagic = {'S', 'k', 'a', 'l', 'd', 'P', 'k', 'd'};  ///< the file's first bytes
  /// Values of byte_order and format_version.
  static constexpr uint32_t kByteOrder = 0x01020304, kFormatVersion = 5;

  std::array<char, 8> magic = kMagic;  ///< kMagic
  /// As the constants say.
  uint32_t byte_order = kByteOrder, format_version = kFormatVersion;
  /// Of the order of elements in packed matrices; reserved.
  uint32_t layout_version = kPackedLayoutVersion, zero = 0;
  /// Of the table after this header; of the whole file.
  uint64_t table_bytes = 0, file_bytes = 0;
  uint64_t table_checksum = 0;  ///< XXH64 of the table
  uint64_t checksum = 0;        ///< of all fields above
};

static_assert(sizeof(PackedHeader) == 56);

/// Bytes of the file, and their checksum.
struct PackedRange {
  /// From the file's beginning; bytes; XXH64 of them.
  uint64_t offset = 0, bytes = 0, checksum = 0;
};

/// A matrix [rows, cols], or a vector of `rows` floats, with cols = 0.
struct PackedParameter {
  /// Elements; see above.
  uint64_t rows = 0, cols = 0;
  uint64_t dtype = 0;   ///< the number of a DType
  uint64_t inputs = 0;  ///< what is done with its inputs: a sum of the values below
  PackedRange range;    ///< of its packed elements, then Matrix::order and Matrix::factors, if there are such

  /// Values of `inputs`: Matrix::row_scale, Matrix::has_order and Matrix::has_factors.
  static constexpr uint64_t kRowScale = 1, kOrder = 2, kFactors = 4;
};

/// A small file that belongs to the model, such as its tokenizer.
struct PackedAttachment {
  std::string name;   ///< the attachment's, unique in the file
  PackedRange range;  ///< of its content
};

/// The table after the header: what the file has, and where.
struct PackedTable {
  std::string name;                           ///< of the model, for people
  std::string source;                         ///< the source of the weights (packed_source.h)
  uint64_t model = 0;                         ///< Fingerprint of its ModelSpec
  DType dtype = DType::kF32;                  ///< the type that the weights were loaded as
  std::vector<PackedAttachment> attachments;  ///< in any order
  std::vector<PackedParameter> parameters;    ///< in the order of ForEachArray
};

namespace internal {

uint64_t ChecksumOf(const PackedHeader& header);

std::string GetText(ByteReader& reader);

std::vector<std::byte> TableBytes(const PackedTable& table);

/// Large contents begin at a page boundary.
inline constexpr uint64_t kPageBytes = 4096;

/// Returns the offset of `bytes` of content after content that ends at `end`.
constexpr uint64_t PackedOffset(uint64_t end, uint64_t bytes) {
  const uint64_t alignment = bytes < kPageBytes ? kAlignment : kPageBytes;
  return (end + alignment - 1) / alignment * alignment;
}

/// Fills `table`. Returns false if the bytes are not a table.
bool ReadTable(std::span<const std::byte> bytes, PackedTable& table);

}  // namespace internal

/// Returns the table of a packed file's image. Errors, which contain `file`: kDataLoss for bytes that are damaged, cut
/// short or not a packed file, kUnsupported for one of another version or kind of CPU.
Result<PackedTable> ParsePacked(const std::string& file, std::span<const std::byte> image);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packed_files/detail/packed_format.h"
#endif

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_
