// SPDX-License-Identifier: Apache-2.0
//
// Text that we did not write, as it may be shown: names and metadata of files, error messages, what a model writes.
// Nothing in it drives the terminal of whoever reads it.

#ifndef SKALD_EXAMPLES_SKALD_PRINTABLE_H_
#define SKALD_EXAMPLES_SKALD_PRINTABLE_H_

#include <string>
#include <string_view>

#include "skald/text/utf8.h"

namespace skald::program {

// Whether a terminal may take `character`, one of UTF-8, for a command: C0 with its escape character, delete, or C1.
constexpr bool IsControl(std::string_view character) {
  const auto byte = [character](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

// Returns `text` with every byte of control characters, and every byte that is not of UTF-8, written as in \x1b.
// Characters of `kept` stay.
inline std::string Printable(std::string_view text, std::string_view kept = "") {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const Utf8Character first = FirstUtf8Character(text);
    const bool is_valid = first.status == Utf8Status::kComplete;
    const std::string_view character = text.substr(0, is_valid ? first.length : 1);
    text.remove_prefix(character.size());
    if (is_valid && (!IsControl(character) || kept.find(character) != std::string_view::npos)) {
      shown += character;
      continue;
    }
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return shown;
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_PRINTABLE_H_
