// SPDX-License-Identifier: Apache-2.0
//
// The entries of a ZIP file that are stored as they are, found by its central directory. Every offset and size is
// checked against the file. Source: APPNOTE.TXT, version 6.3.10, sections 4.3 and 4.4.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_ZIP_ENTRIES_H_
#define SKALD_WEIGHTS_FILES_DETAIL_ZIP_ENTRIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/result.h"
#include "skald/base/text/message.h"

namespace skald::internal {

/// Bytes by their name.
using ZipEntries = std::map<std::string, std::span<const std::byte>, std::less<>>;

// Returns a number of `size` bytes, little-endian, which must be there.
inline uint64_t LittleEndianAt(std::span<const std::byte> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(bytes[at + i]) << 8 * i;
  return value;
}

// Where the record is that ends the file, or nothing: its comment may be up to 65,535 bytes long.
inline size_t FindZipEnd(std::span<const std::byte> file) {
  constexpr size_t kRecord = 22, kComment = 0xFFFF;
  if (file.size() < kRecord) return file.size();
  const size_t last = file.size() - kRecord, first = last - std::min(last, kComment);
  for (size_t at = last + 1; at-- > first;) {
    const bool is_here = LittleEndianAt(file, at, 4) == 0x06054b50;
    if (is_here && at + kRecord + LittleEndianAt(file, at + 20, 2) == file.size()) return at;
  }
  return file.size();
}

// The bytes of the entry whose record in the central directory begins at `at`, and has its whole fixed part.
inline Result<std::span<const std::byte>> ZipEntryAt(std::span<const std::byte> file, size_t at) {
  constexpr size_t kLocal = 30;
  const uint64_t flags = LittleEndianAt(file, at + 8, 2), method = LittleEndianAt(file, at + 10, 2);
  const uint64_t packed = LittleEndianAt(file, at + 20, 4), size = LittleEndianAt(file, at + 24, 4);
  const uint64_t local = LittleEndianAt(file, at + 42, 4);
  if ((flags & 1) != 0) return Fail(ErrorCode::kUnsupported, "an entry is encrypted");
  if (method != 0) {
    return Fail(ErrorCode::kUnsupported,
                Concat({"an entry is compressed by the method ", std::to_string(method), ", expected none"}));
  }
  if (packed == 0xFFFFFFFF || size == 0xFFFFFFFF || local == 0xFFFFFFFF) {
    return Fail(ErrorCode::kUnsupported, "it is a ZIP64 file, for sizes beyond 4 GB");
  }
  const bool is_there = packed == size && local + kLocal <= file.size() && LittleEndianAt(file, local, 4) == 0x04034b50;
  if (!is_there) return Fail(ErrorCode::kDataLoss, "an entry is not where the directory says");
  const uint64_t begin = local + kLocal + LittleEndianAt(file, local + 26, 2) + LittleEndianAt(file, local + 28, 2);
  if (begin > file.size() || size > file.size() - begin) {
    return Fail(ErrorCode::kDataLoss, "an entry reaches past the end of the file");
  }
  return file.subspan(begin, size);
}

// Returns all entries. Errors: kDataLoss, kUnsupported for what is compressed, encrypted or in several files.
inline Result<ZipEntries> ReadZipEntries(std::span<const std::byte> file) {
  constexpr size_t kRecord = 46;
  const size_t end = FindZipEnd(file);
  if (end == file.size()) return Fail(ErrorCode::kUnsupported, "it is no ZIP file, as torch.save writes them");
  const uint64_t count = LittleEndianAt(file, end + 10, 2), bytes = LittleEndianAt(file, end + 12, 4);
  uint64_t at = LittleEndianAt(file, end + 16, 4);
  if (count != LittleEndianAt(file, end + 8, 2)) return Fail(ErrorCode::kUnsupported, "it is split into several files");
  if (at > end || bytes > end - at) return Fail(ErrorCode::kDataLoss, "its directory is not where it says");
  const std::span<const std::byte> before = file.first(end);
  ZipEntries entries;
  for (uint64_t i = 0; i < count; ++i) {
    const bool has_record = at + kRecord <= before.size() && LittleEndianAt(before, at, 4) == 0x02014b50;
    const uint64_t name = has_record ? LittleEndianAt(before, at + 28, 2) : 0;
    if (!has_record || name > before.size() - at - kRecord) {
      return Fail(ErrorCode::kDataLoss, "its directory is damaged");
    }
    const std::string_view text(reinterpret_cast<const char*>(before.data()) + at + kRecord, name);
    SKALD_ASSIGN(const auto content, ZipEntryAt(before, at));
    if (!entries.emplace(text, content).second) {
      return Fail(ErrorCode::kDataLoss, Concat({"two entries are called ", QuotedName(text)}));
    }
    at += kRecord + name + LittleEndianAt(before, at + 30, 2) + LittleEndianAt(before, at + 32, 2);
  }
  return entries;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_FILES_DETAIL_ZIP_ENTRIES_H_
