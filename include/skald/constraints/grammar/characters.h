// SPDX-License-Identifier: Apache-2.0
//
// Sets of Unicode characters, and the bytes that spell them in UTF-8. Pure functions; safe for concurrent calls.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_CHARACTERS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_CHARACTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald {

/// Unicode code points from `first` to `last`, both included.
struct CharacterRange {
  /// Code points; first <= last.
  char32_t first, last;

  friend bool operator==(const CharacterRange&, const CharacterRange&) = default;
};

using CharacterRanges = std::vector<CharacterRange>;

inline constexpr char32_t kLastCharacter = 0x10FFFF;
inline constexpr CharacterRange kSurrogates = {0xD800, 0xDFFF};  ///< no characters

/// Returns the characters that are in none of the ranges, in order.
CharacterRanges Complement(CharacterRanges set);

/// Returns the same characters as ranges in order that do not touch, without surrogates.
inline CharacterRanges Tidied(CharacterRanges set) { return Complement(Complement(std::move(set))); }

CharacterRanges Without(const CharacterRanges& set, const CharacterRanges& others);

bool Contains(const CharacterRanges& set, char32_t c);

namespace internal {

struct ByteInterval {
  uint8_t first, last;
};

/// The UTF-8 of `c`, which must be a character.
std::string Utf8Of(char32_t c);

/// The character that `utf8`, valid and one character long, spells.
char32_t CharacterIn(std::string_view utf8);

/// Calls tell(intervals) for sequences of intervals of bytes that together spell just the characters of `range`, which
/// has no surrogates: of each interval any byte, one after the other.
template <class Tell>
void TellUtf8(CharacterRange range, const Tell& tell) {
  constexpr char32_t kEnds[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};  // the last character of each length
  for (const char32_t end : kEnds) {
    if (range.first <= end && end < range.last) {
      TellUtf8({range.first, end}, tell);
      return TellUtf8({end + 1, range.last}, tell);
    }
  }
  // Both ends have one length now. If a byte except the last differs, those after it must run from lowest to highest.
  const std::string first = Utf8Of(range.first), last = Utf8Of(range.last);
  for (size_t rest = first.size() - 1; rest > 0; --rest) {  // bytes after the one that may differ
    const char32_t mask = (char32_t{1} << 6 * rest) - 1;
    if ((range.first & ~mask) == (range.last & ~mask)) continue;
    if ((range.first & mask) != 0) {
      TellUtf8({range.first, range.first | mask}, tell);
      return TellUtf8({(range.first | mask) + 1, range.last}, tell);
    }
    if ((range.last & mask) != mask) {
      TellUtf8({range.first, (range.last & ~mask) - 1}, tell);
      return TellUtf8({range.last & ~mask, range.last}, tell);
    }
  }
  std::array<ByteInterval, 4> intervals = {};
  for (size_t i = 0; i < first.size(); ++i) {
    intervals[i] = {static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])};
  }
  tell(std::span<const ByteInterval>(intervals.data(), first.size()));
}

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/characters.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_CHARACTERS_H_
