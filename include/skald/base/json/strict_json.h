// SPDX-License-Identifier: Apache-2.0
//
// JSON from a file that nobody vouches for: as RFC 8259 says, with no name twice in one object
// (parsers commonly keep the last one, so two programs could read one file differently) and with
// bounded nesting and so bounded memory.

#ifndef SKALD_BASE_JSON_STRICT_JSON_H_
#define SKALD_BASE_JSON_STRICT_JSON_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/base/message.h"

namespace skald::internal {

// Deeper than any file that is read here goes.
inline constexpr size_t kMaxStrictJsonDepth = 8;

// Reads a text without keeping it, and complains of what is not allowed. (A callback while the parser builds its values
// would do as well, but there the parser looks at all that an object holds so far whenever something in it ends: a
// header of 40,000 tensors takes minutes.)
class JsonWatcher final : public JsonEvents {
 public:
  using Json = nlohmann::json;

  const std::string& complaint() const { return complaint_; }

  bool start_object(size_t /*elements*/) override { return Open(); }
  bool start_array(size_t /*elements*/) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (!names_.back().insert(name).second) complaint_ = Concat({"gives the name ", QuotedName(name), " twice"});
    return complaint_.empty();
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override {
    complaint_ = "is not valid JSON";
    return false;
  }

 private:
  bool Open() {
    if (names_.size() == kMaxStrictJsonDepth) {
      complaint_ = Concat({"nests deeper than ", std::to_string(kMaxStrictJsonDepth), " levels"});
      return false;
    }
    names_.emplace_back();
    return true;
  }
  bool Close() {
    names_.pop_back();
    return true;
  }

  std::string complaint_;
  std::vector<std::set<std::string>> names_;  // seen so far in the object or array at each depth
};

// Parses `text` into `root`, which its caller guards. Returns "" or a complaint that continues a sentence about the
// text.
inline std::string ParseStrictJson(std::string_view text, nlohmann::json& root) {
  JsonWatcher watcher;
  if (!ReadJson(text, watcher)) return watcher.complaint();
  return ParseJson(text, root) ? "" : "is not valid JSON";
}

}  // namespace skald::internal

#endif  // SKALD_BASE_JSON_STRICT_JSON_H_
