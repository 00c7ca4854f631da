// SPDX-License-Identifier: Apache-2.0
//
// QuotedText: a text between single quotes that is written as it is, as LFM2.5's template writes it: quotes,
// backslashes and line breaks within have no escapes. So a quote ends it only where the call goes on after it: with
// another argument (a comma and a name), another call, or the mark that ends all calls. The grammar of such texts says
// the same (constraints/schema/detail/text_as_is.h).

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_QUOTED_TEXT_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_QUOTED_TEXT_H_

#include <string>
#include <string_view>

#include "skald/constraints/schema/value_notation.h"

namespace skald::internal::calls {

class QuotedText {
 public:
  static constexpr char kQuote = '\'';

  // Takes the next byte after the quote that begins it, and adds to `text` what is certain.
  void Take(char c, std::string& text) {
    held_ += c;
    while (!held_.empty()) {
      const Meaning meaning = held_[0] == kQuote ? MeaningOf(std::string_view(held_).substr(1)) : Meaning::kText;
      if (meaning == Meaning::kOpen) return;
      has_ended_ = meaning == Meaning::kEnd;
      if (!has_ended_) text += held_[0];
      held_.erase(0, 1);
      if (has_ended_) return;
    }
  }

  bool has_ended() const { return has_ended_; }
  // The bytes that were taken after the quote that ended it.
  const std::string& left() const { return held_; }

 private:
  enum class Meaning { kOpen, kText, kEnd };

  // Of a quote before `rest`.
  static Meaning MeaningOf(std::string_view rest) {
    if (rest.starts_with(')')) {
      rest.remove_prefix(1);
      if (rest.starts_with(']'))
        return rest.size() == 1 ? Meaning::kOpen : rest[1] == '<' ? Meaning::kEnd : Meaning::kText;
    }
    if (rest.empty()) return Meaning::kOpen;
    if (rest[0] != ',') return Meaning::kText;
    rest.remove_prefix(1);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    if (rest.empty()) return Meaning::kOpen;
    return BeginsName(rest[0]) ? Meaning::kEnd : Meaning::kText;
  }

  std::string held_;  // a quote and what may tell whether it ends the text
  bool has_ended_ = false;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_QUOTED_TEXT_H_
