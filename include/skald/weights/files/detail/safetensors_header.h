// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/safetensors_header.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_HEADER_H_
#define SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_HEADER_H_

#include "skald/weights/files/safetensors_header.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/detail/strict_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

// Reads an array of non-negative integers. Returns false for anything else: negative, fractional, beyond 64 bits.
inline bool ReadSizes(const nlohmann::json& value, std::vector<uint64_t>& sizes) {
  if (!value.is_array()) return false;
  for (const nlohmann::json& size : value) {
    if (!size.is_number_unsigned()) return false;
    sizes.push_back(size.get<uint64_t>());
  }
  return true;
}

// Reads {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}. Returns "" or a complaint.
inline std::string ReadSafetensorsEntry(const nlohmann::json& value, SafetensorsEntry& entry) {
  if (!value.is_object()) {
    return Concat({"expected an object with dtype, shape and data_offsets, found ", value.type_name()});
  }
  const auto dtype = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");
  if (value.size() != 3 || dtype == value.end() || shape == value.end() || offsets == value.end()) {
    return "expected exactly the fields dtype, shape and data_offsets";
  }
  if (!dtype->is_string()) return Concat({"dtype must be a string, found ", dtype->type_name()});
  entry.dtype_name = dtype->get_ref<const std::string&>();
  if (!ReadSizes(*shape, entry.shape)) {
    return "shape must be an array of non-negative 64-bit integers";
  }
  std::vector<uint64_t> begin_end;
  if (!ReadSizes(*offsets, begin_end) || begin_end.size() != 2) {
    return "data_offsets must be two non-negative 64-bit integers";
  }
  entry.begin = begin_end[0];
  entry.end = begin_end[1];
  return "";
}

SKALD_INLINE std::string ReadSafetensorsHeader(std::string_view header, std::vector<SafetensorsEntry>& entries) {
  // JSON would also allow a byte order mark or blanks in front; the format does not.
  if (!header.starts_with('{')) return "its header must be a JSON object and begin with '{'";
  nlohmann::json root;
  const JsonGuard guard(root);
  if (std::string complaint = ParseStrictJson(header, root); !complaint.empty()) {
    return Concat({"its header ", complaint});
  }
  for (const auto& [name, value] : root.items()) {
    if (name == "__metadata__") {  // free text, which is not used here
      const bool is_text = value.is_object() && std::ranges::all_of(value, [](const auto& v) { return v.is_string(); });
      if (!is_text) return "__metadata__ must be an object that holds only strings";
      continue;
    }
    SafetensorsEntry entry;
    entry.name = name;
    if (std::string complaint = ReadSafetensorsEntry(value, entry); !complaint.empty()) {
      return Concat({"tensor ", QuotedName(name), ": ", complaint});
    }
    entries.push_back(std::move(entry));
  }
  return "";
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_SAFETENSORS_HEADER_H_
