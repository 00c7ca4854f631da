// SPDX-License-Identifier: Apache-2.0
//
// Sets of Unicode characters, and the bytes that spell them in UTF-8. Pure functions; safe for concurrent calls.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_CHARACTERS_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_CHARACTERS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald {

struct CharacterRange {
  char32_t first, last;

  friend bool operator==(const CharacterRange&, const CharacterRange&) = default;
};

using CharacterRanges = std::vector<CharacterRange>;

inline constexpr char32_t kLastCharacter = 0x10FFFF;
inline constexpr CharacterRange kSurrogates = {0xD800, 0xDFFF};  // stand for no character

// Returns the characters that are in none of the ranges, in order.
inline CharacterRanges Complement(CharacterRanges set) {
  set.push_back(kSurrogates);
  std::sort(set.begin(), set.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  CharacterRanges rest;
  char32_t next = 0;  // the first character that is not decided yet
  for (const CharacterRange& range : set) {
    if (range.first > range.last) continue;
    if (range.first > next) rest.push_back({next, range.first - 1});
    next = std::max<char32_t>(next, range.last + 1);
  }
  if (next <= kLastCharacter) rest.push_back({next, kLastCharacter});
  return rest;
}

// Returns the same characters as ranges in order that do not touch, without surrogates.
inline CharacterRanges Tidied(CharacterRanges set) { return Complement(Complement(std::move(set))); }

inline CharacterRanges Without(const CharacterRanges& set, const CharacterRanges& others) {
  CharacterRanges outside = Complement(set);
  outside.insert(outside.end(), others.begin(), others.end());
  return Complement(std::move(outside));
}

inline bool Contains(const CharacterRanges& set, char32_t c) {
  return std::any_of(set.begin(), set.end(), [c](const auto& range) { return range.first <= c && c <= range.last; });
}

namespace internal {

struct ByteInterval {
  uint8_t first, last;
};

// The UTF-8 of `c`, which must be a character.
inline std::string Utf8Of(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
}

// The character that `utf8`, valid and one character long, spells.
inline char32_t CharacterIn(std::string_view utf8) {
  const auto lead = static_cast<unsigned char>(utf8[0]);
  char32_t value = utf8.size() == 1 ? lead : lead & (0x7Fu >> utf8.size());
  for (size_t i = 1; i < utf8.size(); ++i) value = value << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3F);
  return value;
}

// Calls tell(intervals) for sequences of intervals of bytes that together spell just the characters of `range`, which
// has no surrogates: of each interval any byte, one after the other.
template <class Tell>
void TellUtf8(CharacterRange range, const Tell& tell) {
  constexpr char32_t kEnds[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};  // the last character of each length
  for (const char32_t end : kEnds) {
    if (range.first <= end && end < range.last) {
      TellUtf8({range.first, end}, tell);
      return TellUtf8({end + 1, range.last}, tell);
    }
  }
  // Both ends have one length now. Where a byte but the last differs, those behind it must run from lowest to highest.
  const std::string first = Utf8Of(range.first), last = Utf8Of(range.last);
  for (size_t rest = first.size() - 1; rest > 0; --rest) {  // bytes behind the one that may differ
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

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_CHARACTERS_H_
