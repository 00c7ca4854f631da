// SPDX-License-Identifier: Apache-2.0
//
// StopStrings: publishes a growing text until one of some strings appears in it, wherever the borders of its pieces
// are. Text that may yet become such a string is withheld. Plain state of one text: copy it to fork. The strings are
// shared by all texts of a request.

#ifndef SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_
#define SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_

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
  /// None of `strings` is empty, nor are they null.
  explicit StopStrings(std::shared_ptr<const std::vector<std::string>> strings) : strings_(std::move(strings)) {}

  /// Whether one has appeared; nothing comes out any more.
  bool has_stopped() const { return stopped_by_.has_value(); }
  /// Which of the strings that was, by its place in the list.
  std::optional<size_t> stopped_by() const { return stopped_by_; }

  /// Returns the text that is certain now: up to the first of the strings, or up to what may be the beginning of one.
  std::string Push(std::string_view piece);

  /// Returns what was held back, at the end of a text that no string stopped.
  std::string Flush() { return has_stopped() ? std::string() : std::exchange(held_, {}); }

 private:
  // Bytes at the end of what is held that begin some string.
  size_t LongestBeginning() const;

  std::shared_ptr<const std::vector<std::string>> strings_;
  std::string held_;
  std::optional<size_t> stopped_by_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/answers/detail/stop_strings.h"
#endif

#endif  // SKALD_ENGINE_ANSWERS_STOP_STRINGS_H_
