// SPDX-License-Identifier: Apache-2.0
//
// TextOfId: how much text one id stands for at most, from which follows how many ids a text has at least. Pure; safe
// for concurrent calls.

#ifndef SKALD_TEXT_TOKENIZERS_TEXT_OF_ID_H_
#define SKALD_TEXT_TOKENIZERS_TEXT_OF_ID_H_

#include <cstddef>
#include <string_view>

#include "skald/text/tokenizers/tokenizer_engine.h"
#include "skald/text/tokenizers/unicode.h"

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
      const CodePoint c = FirstCodePoint(text);
      if (!IsWhiteSpace(c.value) && !text.starts_with(kSpaceSymbol)) bytes += c.length;
      text.remove_prefix(c.length);
    }
    return bytes;
  }
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_TOKENIZERS_TEXT_OF_ID_H_
