// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_format.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FORMAT_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FORMAT_H_

#include "skald/weights/packed_files/packed_format.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "skald/base/inline.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

SKALD_INLINE uint64_t ChecksumOf(const PackedHeader& header) {
  return Xxh64(std::as_bytes(std::span(&header, 1)).first(offsetof(PackedHeader, checksum)));
}

inline void PutText(std::string_view text, ByteWriter& writer) { writer.PutList(std::span(text)); }

SKALD_INLINE std::string GetText(ByteReader& reader) {
  const std::vector<char> text = reader.GetList<char>();
  return {text.begin(), text.end()};
}

SKALD_INLINE std::vector<std::byte> TableBytes(const PackedTable& table) {
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

// Refuses a header that is not that of a whole packed file of this version for this machine. All versions have the same
// form of header, so damage is distinguished from another version.
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

SKALD_INLINE bool ReadTable(std::span<const std::byte> bytes, PackedTable& table) {
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

// Whether the table's ranges follow each other from `end`, the end of the table, to the end of a file of so many bytes:
// every byte of the file belongs to the header, the table, one range, or the padding before it.
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

SKALD_INLINE Result<PackedTable> ParsePacked(const std::string& file, std::span<const std::byte> image) {
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

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FORMAT_H_
