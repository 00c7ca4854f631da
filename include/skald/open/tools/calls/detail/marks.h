// SPDX-License-Identifier: Apache-2.0
//
// MarkedStream: looks for marks in a text that comes in pieces, and holds back what may become one.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_MARKS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_MARKS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace skald::internal::calls {

// How many bytes at the end of `text` may be the beginning of `mark`, and are not all of it.
inline size_t HeldBack(std::string_view text, std::string_view mark) {
  if (mark.empty()) return 0;
  size_t size = std::min(mark.size() - 1, text.size());
  while (!text.ends_with(mark.substr(0, size))) --size;
  return size;
}

class MarkedStream {
 public:
  void Push(std::string_view text) { text_ += text; }
  // Puts a text before what is left.
  void PutBack(std::string_view text) { text_.insert(0, text); }

  // Takes the text up to the first of the `marks`, the mark itself too, and says which it was; without one, what can be
  // part of none. Of several at one place the longest counts, so a mark that may become a longer one is held back
  // unless the text `is_whole`. Empty marks do not count.
  struct Taken {
    std::string text;
    std::optional<size_t> mark = {};  // its place in the list
  };
  Taken TakeUntil(std::span<const std::string_view> marks, bool is_whole = false) {
    size_t begin = text_.npos, which = 0;
    for (size_t i = 0; i < marks.size(); ++i) {
      const size_t at = marks[i].empty() ? text_.npos : text_.find(marks[i]);
      if (at < begin || (at != text_.npos && at == begin && marks[i].size() > marks[which].size()))
        begin = at, which = i;
    }
    size_t held = 0;
    for (const std::string_view mark : marks) held = std::max(held, is_whole ? 0 : HeldBack(text_, mark));
    const size_t certain = text_.size() - held;
    if (begin == text_.npos || certain <= begin) {
      Taken taken = {text_.substr(0, certain)};
      text_.erase(0, certain);
      return taken;
    }
    Taken taken = {text_.substr(0, begin), which};
    text_.erase(0, begin + marks[which].size());
    return taken;
  }

  // All that is left.
  std::string TakeRest() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_MARKS_H_
