// SPDX-License-Identifier: Apache-2.0
//
// JSON as text. Values stay text because the model's own digits are the arguments of its calls: a number of 30 digits
// must not become a double.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_JSON_TEXT_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_JSON_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/base/json/read_json.h"
#include "skald/open/tools/output_part.h"

namespace skald::internal::calls {

inline constexpr std::string_view kSpace = " \t\r\n";

inline bool IsSpace(char c) { return kSpace.find(c) != kSpace.npos; }

// The text without white space at its ends.
inline std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = text.find_last_not_of(kSpace);
  return end == text.npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

class NoEvents final : public internal::JsonEvents {
 public:
  using Json = nlohmann::json;

  bool start_object(size_t) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_object() override { return true; }
  bool end_array() override { return true; }
  bool key(std::string&) override { return true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }
};

// Whether the text is one value of JSON.
inline bool IsJson(std::string_view text) {
  constexpr internal::JsonLimits kLimits = {.depth = kMostAnswerNesting};
  NoEvents events;
  std::string complaint;
  return internal::ReadJson(text, events, complaint, kLimits);
}

// The same value without the white space between its parts. `json` must be JSON.
inline std::string WithoutSpace(std::string_view json) {
  std::string dense;
  dense.reserve(json.size());
  bool in_string = false, is_escaped = false;
  for (const char c : json) {
    if (!in_string && IsSpace(c)) continue;
    dense += c;
    if (is_escaped) {
      is_escaped = false;
    } else if (in_string && c == '\\') {
      is_escaped = true;
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return dense;
}

// A text as a string of JSON.
inline std::string QuotedJson(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The text that a string of JSON means; nothing if it is another value.
inline std::optional<std::string> UnquotedJson(std::string_view json) {
  if (!json.starts_with('"')) return std::nullopt;
  nlohmann::json value;
  if (!internal::ParseJson(json, value).empty() || !value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_JSON_TEXT_H_
