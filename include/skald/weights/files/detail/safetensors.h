// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/safetensors.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_H_
#define SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_H_

#include "skald/weights/files/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

// Returns the bits per element of a dtype of the format, or nothing for an unknown name.
inline std::optional<uint64_t> SafetensorsBits(std::string_view dtype) {
  struct Entry {
    std::string_view name;
    uint64_t bits;
  };
  static constexpr std::array kTypes = {
      Entry{"F32", 32},    Entry{"BF16", 16},   Entry{"F16", 16},    Entry{"F64", 64},    Entry{"BOOL", 8},
      Entry{"U8", 8},      Entry{"I8", 8},      Entry{"U16", 16},    Entry{"I16", 16},    Entry{"U32", 32},
      Entry{"I32", 32},    Entry{"U64", 64},    Entry{"I64", 64},    Entry{"C64", 64},    Entry{"F8_E4M3", 8},
      Entry{"F8_E5M2", 8}, Entry{"F8_E8M0", 8}, Entry{"F6_E2M3", 6}, Entry{"F6_E3M2", 6}, Entry{"F4", 4}};
  for (const Entry& type : kTypes) {
    if (type.name == dtype) return type.bits;
  }
  return std::nullopt;
}

// Returns bits * product(shape), or nothing when that does not fit into 64 bits.
inline std::optional<uint64_t> TotalBits(std::span<const uint64_t> shape, uint64_t bits) {
  uint64_t total = bits;
  for (const uint64_t size : shape) {
    if (size != 0 && total > std::numeric_limits<uint64_t>::max() / size) return std::nullopt;
    total *= size;
  }
  return total;
}

// Checks one entry on its own against a data section of `data_size` bytes. Returns a complaint, or
// "" if all is well.
inline std::string CheckSafetensorsEntry(const SafetensorsEntry& entry, uint64_t data_size) {
  const std::string offsets =
      Concat({"data_offsets [", std::to_string(entry.begin), ", ", std::to_string(entry.end), "]"});
  if (entry.begin > entry.end) return Concat({offsets, " end before they begin"});
  if (entry.end > data_size) {
    return Concat({offsets, " reach past the data section, which has ", std::to_string(data_size), " bytes"});
  }
  // An element type from a newer version of the format is an error only if the tensor is needed.
  const std::optional<uint64_t> bits = SafetensorsBits(entry.dtype_name);
  if (!bits) return "";
  const std::optional<uint64_t> total = TotalBits(entry.shape, *bits);
  const std::string what = Concat({"shape ", ShapeText(entry.shape), " of ", entry.dtype_name});
  if (!total) return Concat({what, " has more elements than 64 bits can count"});
  if (*total % 8 != 0) return Concat({what, " does not fill whole bytes"});
  if (*total / 8 != entry.end - entry.begin) {
    return Concat({what, " takes ", std::to_string(*total / 8), " bytes, but ", offsets, " hold ",
                   std::to_string(entry.end - entry.begin)});
  }
  return "";
}

// Checks that the entries cover a data section of `data_size` bytes without hole or overlap. Returns a complaint that
// names the tensor, or "".
inline std::string CheckTiling(std::span<const SafetensorsEntry> entries, uint64_t data_size) {
  std::vector<const SafetensorsEntry*> in_file_order;
  for (const SafetensorsEntry& entry : entries) in_file_order.push_back(&entry);
  std::sort(in_file_order.begin(), in_file_order.end(),
            [](const auto* a, const auto* b) { return a->begin != b->begin ? a->begin < b->begin : a->end < b->end; });
  uint64_t expected = 0;
  for (const SafetensorsEntry* entry : in_file_order) {
    if (entry->begin != expected) {
      return Concat({"tensor ", QuotedName(entry->name), " begins at byte ", std::to_string(entry->begin),
                     " of the data section, expected ", std::to_string(expected),
                     ": tensors must follow each other without gap or overlap"});
    }
    expected = entry->end;
  }
  if (expected == data_size) return "";
  return Concat({"the last tensor ends at byte ", std::to_string(expected), " of the data section, expected ",
                 std::to_string(data_size), ", the end of the file"});
}

}  // namespace internal

SKALD_INLINE Result<SafetensorsContents> ParseSafetensors(const std::string& file, std::span<const std::byte> image) {
  return NoThrow(file, [&]() -> Result<SafetensorsContents> {
    const auto damaged = [&file](const std::string& what) {
      return Fail(ErrorCode::kDataLoss, Concat({file, ": ", what}));
    };
    constexpr size_t kLengthBytes = 8;
    if (image.size() < kLengthBytes) {
      return damaged(
          Concat({"not a safetensors file: expected at least 8 bytes, found ", std::to_string(image.size())}));
    }
    uint64_t length;
    std::memcpy(&length, image.data(), kLengthBytes);
    if (length > kMaxSafetensorsHeader) {
      return damaged(Concat({"not a safetensors file: its header claims ", std::to_string(length),
                             " bytes, the format allows ", std::to_string(kMaxSafetensorsHeader)}));
    }
    if (length > image.size() - kLengthBytes) {
      return damaged(Concat({"cut short: its header claims ", std::to_string(length), " bytes, but only ",
                             std::to_string(image.size() - kLengthBytes), " follow"}));
    }
    SafetensorsContents contents;
    contents.data_begin = kLengthBytes + static_cast<size_t>(length);
    const std::string_view header(reinterpret_cast<const char*>(image.data()) + kLengthBytes,
                                  static_cast<size_t>(length));
    if (std::string complaint = internal::ReadSafetensorsHeader(header, contents.entries); !complaint.empty()) {
      return damaged(complaint);
    }
    const uint64_t data_size = image.size() - contents.data_begin;
    for (const SafetensorsEntry& entry : contents.entries) {
      const std::string complaint = internal::CheckSafetensorsEntry(entry, data_size);
      if (!complaint.empty()) {
        return damaged(Concat({"tensor ", QuotedName(entry.name), ": ", complaint}));
      }
    }
    if (std::string complaint = internal::CheckTiling(contents.entries, data_size); !complaint.empty()) {
      return damaged(complaint);
    }
    return contents;
  });
}

SKALD_INLINE Result<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto map, MappedFile::Open(path));
  return From(path, std::move(map));
}

SKALD_INLINE Result<SafetensorsFile> SafetensorsFile::From(const std::filesystem::path& path, MappedFile map) {
  SKALD_ASSIGN(auto contents, ParseSafetensors(PathText(path), map.bytes()));
  return SafetensorsFile(std::move(map), std::move(contents));
}

SKALD_INLINE bool SafetensorsFile::Contains(std::string_view name) const {
  const auto found = std::lower_bound(contents_.entries.begin(), contents_.entries.end(), name,
                                      [](const SafetensorsEntry& entry, std::string_view n) { return entry.name < n; });
  return found != contents_.entries.end() && found->name == name;
}

SKALD_INLINE TensorView SafetensorsFile::operator[](size_t index) const {
  const SafetensorsEntry& entry = contents_.entries[index];
  return {entry.name, entry.dtype_name, internal::ParameterType(entry.dtype_name), entry.shape,
          map_.bytes().subspan(contents_.data_begin + static_cast<size_t>(entry.begin),
                               static_cast<size_t>(entry.end - entry.begin))};
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_H_
