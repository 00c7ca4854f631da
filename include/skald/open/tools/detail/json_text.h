// SPDX-License-Identifier: Apache-2.0
//
// JSON within the text of an answer: where a value ends, and its parts, as text. Nothing recurses here. Values stay
// text because the model's own digits are the arguments of its calls: a number of 30 digits must not become a double.

#ifndef SKALD_OPEN_TOOLS_DETAIL_JSON_TEXT_H_
#define SKALD_OPEN_TOOLS_DETAIL_JSON_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/base/json/read_json.h"
#include "skald/open/tools/output_part.h"

namespace skald::internal::calls {

// Finds the end of an object, an array or a string in a text that comes in pieces. It knows strings and brackets and
// not all of JSON: what it calls whole may still be wrong, but nothing that is JSON ends elsewhere.
class JsonScanner {
 public:
  enum class State { kOpen, kWhole, kWrong };

  // Takes what is new, up to the end of the value, and returns how many bytes of `text` that was. White space may come
  // before the value.
  size_t Push(std::string_view text);

  State state() const { return state_; }

 private:
  void Take(char c);
  void TakeInString(char c);
  void Close(char bracket);

  State state_ = State::kOpen;
  std::string open_;  // the brackets that are still to come, the next one last
  bool in_string_ = false, is_escaped_ = false;
};

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

// The parts of an object or an array between its commas, of JSON that is known to be right.
inline std::vector<std::string_view> PartsOf(std::string_view json) {
  std::vector<std::string_view> parts;
  json = json.substr(1, json.size() - 2);
  size_t begin = 0, depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(Trimmed(json.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  const std::string_view last = Trimmed(json.substr(begin));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

inline size_t JsonScanner::Push(std::string_view text) {
  size_t taken = 0;
  while (taken < text.size() && state_ == State::kOpen) Take(text[taken++]);
  return taken;
}

inline void JsonScanner::Take(char c) {
  if (in_string_) return TakeInString(c);
  if ((c == '{' || c == '[') && open_.size() == kMostAnswerNesting) {
    state_ = State::kWrong;
    return;
  }
  switch (c) {
    case '{':
      open_ += '}';
      return;
    case '[':
      open_ += ']';
      return;
    case '"':
      in_string_ = true;
      return;
    case '}':
    case ']':
      return Close(c);
    default: {
      constexpr std::string_view kOthers = ",:+-.0123456789eEtrufalsn";  // of numbers, true, false and null
      if (!IsSpace(c) && (open_.empty() || kOthers.find(c) == kOthers.npos)) state_ = State::kWrong;
    }
  }
}

inline void JsonScanner::TakeInString(char c) {
  if (static_cast<unsigned char>(c) < 0x20) {
    state_ = State::kWrong;
  } else if (is_escaped_) {
    is_escaped_ = false;
  } else if (c == '\\') {
    is_escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
    if (open_.empty()) state_ = State::kWhole;
  }
}

inline void JsonScanner::Close(char bracket) {
  if (open_.empty() || open_.back() != bracket) {
    state_ = State::kWrong;
    return;
  }
  open_.pop_back();
  if (open_.empty()) state_ = State::kWhole;
}

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

// The members of an object, in order: names as they read, values as text without white space around them. Nothing where
// the text is no JSON, or another value.
inline std::optional<std::vector<std::pair<std::string, std::string_view>>> MembersOf(std::string_view json) {
  json = Trimmed(json);
  if (!json.starts_with('{') || !IsJson(json)) return std::nullopt;
  std::vector<std::pair<std::string, std::string_view>> members;
  for (const std::string_view part : PartsOf(json)) {
    JsonScanner name;
    const size_t size = name.Push(part);
    const size_t colon = part.find(':', size);
    members.emplace_back(UnquotedJson(part.substr(0, size)).value_or(""), Trimmed(part.substr(colon + 1)));
  }
  return members;
}

// The same of the items of an array.
inline std::optional<std::vector<std::string_view>> ItemsOf(std::string_view json) {
  json = Trimmed(json);
  if (!json.starts_with('[') || !IsJson(json)) return std::nullopt;
  return PartsOf(json);
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_JSON_TEXT_H_
