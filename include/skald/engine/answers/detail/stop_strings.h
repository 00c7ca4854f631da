// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/answers/stop_strings.h.

#ifndef SKALD_ENGINE_ANSWERS_DETAIL_STOP_STRINGS_H_
#define SKALD_ENGINE_ANSWERS_DETAIL_STOP_STRINGS_H_

#include "skald/engine/answers/stop_strings.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::string StopStrings::Push(std::string_view piece) {
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

SKALD_INLINE size_t StopStrings::LongestBeginning() const {
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

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_DETAIL_STOP_STRINGS_H_
