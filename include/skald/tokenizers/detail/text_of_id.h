// SPDX-License-Identifier: Apache-2.0
//
// TextOfId: the most text that one id can represent, from which follows the least number of ids of a text. Pure; safe
// for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_TEXT_OF_ID_H_
#define SKALD_TOKENIZERS_DETAIL_TEXT_OF_ID_H_

#include <cstddef>
#include <string_view>

#include "skald/base/text/utf8.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald::internal {

struct TextOfId {
  size_t most_bytes = 0;      // of the text as it comes; 0: nothing is known
  bool drops_spaces = false;  // white space, and the symbol for a space, may have no id

  // Returns a number of ids that `text` has at least. It may hold any bytes.
  size_t LeastIds(std::string_view text) const {
    if (most_bytes == 0) return 0;
    const size_t bytes = drops_spaces ? BytesWithoutSpaces(text) : text.size();
    return bytes / most_bytes + (bytes % most_bytes != 0);
  }

 private:
  static size_t BytesWithoutSpaces(std::string_view text) {
    size_t bytes = 0;
    while (!text.empty()) {
      // A byte that belongs to no character is as much of the text as U+FFFD, and what follows may be a space.
      const Utf8Character c = FirstUtf8Character(text);
      const size_t length = c.status == Utf8Status::kComplete ? c.length : 1;
      const bool is_space =
          IsWhiteSpace(FirstCodePoint(text.substr(0, length)).value) || text.starts_with(kSpaceSymbol);
      if (!is_space) bytes += length;
      text.remove_prefix(length);
    }
    return bytes;
  }
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_TEXT_OF_ID_H_
