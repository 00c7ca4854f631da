// SPDX-License-Identifier: Apache-2.0
//
// StopStrings: lets a growing text out until one of some strings appears in it, wherever the borders of its pieces are.
// What may yet become such a string is held back. Plain state of one text: copy it to fork. The strings are shared by
// all texts of a request.

#ifndef SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_
#define SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald {

class StopStrings {
 public:
  // None of `strings` is empty, nor are they null.
  explicit StopStrings(std::shared_ptr<const std::vector<std::string>> strings) : strings_(std::move(strings)) {}

  // Whether one has appeared; nothing comes out any more.
  bool has_stopped() const { return stopped_by_.has_value(); }
  // Which of the strings that was, by its place in the list.
  std::optional<size_t> stopped_by() const { return stopped_by_; }

  // Returns the text that is certain now: up to the first of the strings, or up to what may be the beginning of one.
  std::string Push(std::string_view piece) {
    if (has_stopped()) return {};
    held_ += piece;
    size_t end = held_.size();
    for (size_t i = 0; i < strings_->size(); ++i) {
      const size_t found = held_.find((*strings_)[i]);
      if (found == std::string::npos || (has_stopped() && found >= end)) continue;
      end = found;
      stopped_by_ = i;
    }
    if (!has_stopped()) end -= LongestBeginning();
    std::string text = held_.substr(0, end);
    held_.erase(0, end);
    return text;
  }

  // Returns what was held back, at the end of a text that no string stopped.
  std::string Flush() { return has_stopped() ? std::string() : std::exchange(held_, {}); }

 private:
  // Bytes at the end of what is held that begin some string.
  size_t LongestBeginning() const {
    size_t longest = 0;
    for (const std::string& string : *strings_) {
      for (size_t length = std::min(string.size() - 1, held_.size()); length > longest; --length) {
        if (std::string_view(held_).substr(held_.size() - length) == std::string_view(string).substr(0, length)) {
          longest = length;
        }
      }
    }
    return longest;
  }

  std::shared_ptr<const std::vector<std::string>> strings_;
  std::string held_;
  std::optional<size_t> stopped_by_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_
