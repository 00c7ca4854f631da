// SPDX-License-Identifier: Apache-2.0
//
// MarkedStream: looks for marks in a text that comes in pieces, and holds back what may become one.

#ifndef SKALD_OPEN_TOOLS_DETAIL_MARKS_H_
#define SKALD_OPEN_TOOLS_DETAIL_MARKS_H_

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace skald::internal::calls {

class MarkedStream {
 public:
  void Push(std::string_view text) { text_ += text; }

  // Takes the text up to the first of the `marks`, the mark itself too, and says which it was; without one, what can be
  // part of none. Empty marks do not count.
  struct Taken {
    std::string text;
    std::optional<size_t> mark = {};  // its place in the list
  };
  Taken TakeUntil(std::initializer_list<std::string_view> marks) {
    size_t begin = text_.npos, which = 0, number = 0;
    for (const std::string_view mark : marks) {
      const size_t at = mark.empty() ? text_.npos : text_.find(mark);
      if (at < begin) begin = at, which = number;
      ++number;
    }
    if (begin != text_.npos) {
      Taken taken = {text_.substr(0, begin), which};
      text_.erase(0, begin + std::data(marks)[which].size());
      return taken;
    }
    Taken taken = {text_.substr(0, text_.size() - HeldBack(marks))};
    text_.erase(0, taken.text.size());
    return taken;
  }

  // All that is left.
  std::string TakeRest() { return std::exchange(text_, {}); }

 private:
  // How many bytes at the end may be the beginning of a mark.
  size_t HeldBack(std::initializer_list<std::string_view> marks) const {
    size_t most = 0;
    for (const std::string_view mark : marks) {
      for (size_t size = std::min(mark.size(), text_.size() + 1) - !mark.empty(); size > most; --size) {
        if (text_.ends_with(mark.substr(0, size))) most = size;
      }
    }
    return most;
  }

  std::string text_;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_MARKS_H_
