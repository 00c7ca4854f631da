// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/text/printable.h.

#ifndef SKALD_BASE_TEXT_DETAIL_PRINTABLE_H_
#define SKALD_BASE_TEXT_DETAIL_PRINTABLE_H_

#include "skald/base/text/printable.h"

#include "skald/base/inline.h"
#include "skald/base/text/utf8.h"

namespace skald {

SKALD_INLINE std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const Utf8Character character = FirstUtf8Character(text);
    const bool is_whole = character.status == Utf8Status::kComplete;
    const std::string_view letter = text.substr(0, is_whole ? character.length : 1);
    const bool is_c0 = letter.size() == 1 && (static_cast<unsigned char>(letter[0]) < 0x20 || letter[0] == 0x7F);
    const bool is_c1 = letter.size() == 2 && letter[0] == '\xC2' && static_cast<unsigned char>(letter[1]) < 0xA0;
    printable += is_whole && !is_c0 && !is_c1 ? letter : "?";
    text.remove_prefix(letter.size());
  }
  return printable;
}

}  // namespace skald

#endif  // SKALD_BASE_TEXT_DETAIL_PRINTABLE_H_
