// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a packed file: a header, and a table of what follows. PACKED_FORMAT.md describes them byte by byte.
// Reading them checks everything but the bytes of the attachments and parameters.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/message.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"

namespace skald {

struct PackedHeader {
  static constexpr std::array<char, 8> kMagic = {'S', 'k', 'a', 'l', 'd', 'P', 'k', 'd'};
  static constexpr uint32_t kByteOrder = 0x01020304, kFormatVersion = 2;

  std::array<char, 8> magic = kMagic;
  uint32_t byte_order = kByteOrder, format_version = kFormatVersion;
  uint32_t layout_version = kPackedLayoutVersion, zero = 0;
  uint64_t table_bytes = 0, file_bytes = 0;
  uint64_t table_checksum = 0;
  uint64_t checksum = 0;  // of all fields before
};

static_assert(sizeof(PackedHeader) == 56);

// Bytes of the file, and their checksum.
struct PackedRange {
  uint64_t offset = 0, bytes = 0, checksum = 0;
};

// A matrix [rows, cols], or a vector of `rows` floats, whose cols are 0.
struct PackedParameter {
  uint64_t rows = 0, cols = 0;
  uint64_t dtype = 0;  // the number of a DType
  PackedRange range;
};

// A small file that belongs to the model, such as its tokenizer.
struct PackedAttachment {
  std::string name;
  PackedRange range;
};

struct PackedTable {
  std::string name;           // of the model, for people
  std::string source;         // what the weights were packed from (packed_source.h)
  uint64_t model = 0;         // Fingerprint of its ModelSpec
  DType dtype = DType::kF32;  // that the weights were loaded as
  std::vector<PackedAttachment> attachments;
  std::vector<PackedParameter> parameters;  // in the order of ForEachArray
};

namespace internal {

inline uint64_t ChecksumOf(const PackedHeader& header) {
  return Xxh64(std::as_bytes(std::span(&header, 1)).first(offsetof(PackedHeader, checksum)));
}

inline void PutText(std::string_view text, ByteWriter& writer) { writer.PutList(std::span(text)); }

inline std::string GetText(ByteReader& reader) {
  const std::vector<char> text = reader.GetList<char>();
  return {text.begin(), text.end()};
}

inline std::vector<std::byte> TableBytes(const PackedTable& table) {
  ByteWriter writer;
  PutText(table.name, writer);
  PutText(table.source, writer);
  writer.Put(table.model);
  writer.Put(static_cast<uint64_t>(table.dtype));
  writer.Put(uint64_t{table.attachments.size()});
  for (const PackedAttachment& attachment : table.attachments) {
    PutText(attachment.name, writer);
    writer.Put(attachment.range);
  }
  writer.PutList(std::span<const PackedParameter>(table.parameters));
  return writer.bytes();
}

// Large contents begin at a page of their own.
inline constexpr uint64_t kPageBytes = 4096;

// Returns where `bytes` of content lie that follow what ends at `end`.
constexpr uint64_t PackedOffset(uint64_t end, uint64_t bytes) {
  const uint64_t alignment = bytes < kPageBytes ? kAlignment : kPageBytes;
  return (end + alignment - 1) / alignment * alignment;
}

// Refuses a header that is not that of a whole packed file of this version for this machine. All versions have a header
// of this shape, so damage is told from another version.
inline Result<void> CheckPackedHeader(const PackedHeader& header, uint64_t file_bytes) {
  const auto version = [](uint32_t found, uint32_t expected, const char* what) {
    return Fail(ErrorCode::kUnsupported, Concat({"it has version ", std::to_string(found), " of ", what, ", expected ",
                                                 std::to_string(expected), "; pack it again"}));
  };
  if (header.magic != PackedHeader::kMagic) return Fail(ErrorCode::kDataLoss, "not a packed file");
  if (header.checksum != ChecksumOf(header)) return Fail(ErrorCode::kDataLoss, "its header is damaged; pack it again");
  if (header.byte_order != PackedHeader::kByteOrder) {
    return Fail(ErrorCode::kUnsupported, "packed on another kind of CPU, of the opposite byte order; pack it again");
  }
  if (header.format_version != PackedHeader::kFormatVersion) {
    return version(header.format_version, PackedHeader::kFormatVersion, "the format of packed files");
  }
  if (header.layout_version != kPackedLayoutVersion) {
    return version(header.layout_version, kPackedLayoutVersion, "the layout of matrices in memory");
  }
  if (header.file_bytes == file_bytes && header.table_bytes <= file_bytes - sizeof(header)) return {};
  return Fail(ErrorCode::kDataLoss,
              Concat({file_bytes < header.file_bytes ? "cut short: it has " : "it has ", std::to_string(file_bytes),
                      " bytes, expected ", std::to_string(header.file_bytes)}));
}

// Fills `table`. Returns false where the bytes are not one.
inline bool ReadTable(std::span<const std::byte> bytes, PackedTable& table) {
  ByteReader reader(bytes);
  table.name = GetText(reader);
  table.source = GetText(reader);
  table.model = reader.Get<uint64_t>();
  const auto dtype = reader.Get<uint64_t>();
  table.dtype = static_cast<DType>(dtype);
  table.attachments.resize(reader.GetCount(sizeof(uint64_t) + sizeof(PackedRange)));
  for (PackedAttachment& attachment : table.attachments) {
    attachment.name = GetText(reader);
    attachment.range = reader.Get<PackedRange>();
  }
  table.parameters = reader.GetList<PackedParameter>();
  return reader.Finished() && dtype <= UINT8_MAX;
}

// Whether all that the table names follows each other from `end` on, the end of the table, to the end of a file of so
// many bytes: so every byte of the file is of the header, the table, one range, or the padding before it.
inline bool RangesFillFile(const PackedTable& table, uint64_t end, uint64_t file_bytes) {
  const auto follows = [&end, file_bytes](const PackedRange& range) {
    const uint64_t begin = PackedOffset(end, range.bytes);
    if (range.offset != begin || begin > file_bytes || range.bytes > file_bytes - begin) return false;
    end = begin + range.bytes;
    return true;
  };
  return std::ranges::all_of(table.attachments, follows, &PackedAttachment::range) &&
         std::ranges::all_of(table.parameters, follows, &PackedParameter::range) && end == file_bytes;
}

}  // namespace internal

// Returns the table of a packed file's image. Errors, which `file` names: kDataLoss for bytes that are damaged, cut
// short or no packed file, kUnsupported for one of another version or kind of CPU.
inline Result<PackedTable> ParsePacked(const std::string& file, std::span<const std::byte> image) {
  PackedHeader header;
  if (image.size() < sizeof(header)) return Fail(ErrorCode::kDataLoss, file + ": cut short: it has no whole header");
  std::memcpy(&header, image.data(), sizeof(header));
  if (const auto valid = internal::CheckPackedHeader(header, image.size()); !valid) return Annotate(file, valid);
  const auto bytes = image.subspan(sizeof(header), static_cast<size_t>(header.table_bytes));
  PackedTable table;
  if (Xxh64(bytes) != header.table_checksum || !internal::ReadTable(bytes, table) ||
      !internal::RangesFillFile(table, sizeof(header) + bytes.size(), image.size())) {
    return Fail(ErrorCode::kDataLoss, file + ": its table of parameters is damaged; pack it again");
  }
  return table;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_FORMAT_H_
