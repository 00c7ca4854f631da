// SPDX-License-Identifier: Apache-2.0
//
// JSON from a file that nobody vouches for: as RFC 8259 says, with no name twice in one object
// (parsers commonly keep the last one, so two programs could read one file differently) and with
// bounded nesting and so bounded memory.

#ifndef SKALD_BASE_STRICT_JSON_H_
#define SKALD_BASE_STRICT_JSON_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/message.h"

namespace skald::internal {

// Deeper than any file that is read here goes.
inline constexpr size_t kMaxJsonDepth = 8;

// Watches the parser at work. Once there is a complaint, everything that follows is thrown away.
class JsonWatcher {
 public:
  const std::string& complaint() const { return complaint_; }

  // `depth` counts the objects and arrays around the event.
  bool Accept(size_t depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (!complaint_.empty()) return false;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth) {
        complaint_ = Concat({"nests deeper than ", std::to_string(kMaxJsonDepth), " levels"});
      }
      names_.resize(depth);
      names_.emplace_back();
    } else if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names_[depth - 1].insert(name).second) {
        complaint_ = Concat({"gives the name ", QuotedName(name), " twice"});
      }
    }
    return complaint_.empty();
  }

 private:
  std::string complaint_;
  std::vector<std::set<std::string>> names_;  // seen so far in the object or array at each depth
};

// Parses `text` into `root`. Returns "" or a complaint that continues a sentence about the text.
inline std::string ParseStrictJson(std::string_view text, nlohmann::json& root) {
  JsonWatcher watcher;
  const auto accept = [&watcher](int depth, nlohmann::json::parse_event_t event,
                                 const nlohmann::json& parsed) {
    return watcher.Accept(static_cast<size_t>(depth), event, parsed);
  };
  root = nlohmann::json::parse(text.begin(), text.end(), accept, /*allow_exceptions=*/false);
  if (!watcher.complaint().empty()) return watcher.complaint();
  return root.is_discarded() ? "is not valid JSON" : "";
}

}  // namespace skald::internal

#endif  // SKALD_BASE_STRICT_JSON_H_
