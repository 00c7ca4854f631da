// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/characters.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_CHARACTERS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_CHARACTERS_H_

#include "skald/constraints/grammar/characters.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE CharacterRanges Complement(CharacterRanges set) {
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

SKALD_INLINE CharacterRanges Without(const CharacterRanges& set, const CharacterRanges& others) {
  CharacterRanges outside = Complement(set);
  outside.insert(outside.end(), others.begin(), others.end());
  return Complement(std::move(outside));
}

SKALD_INLINE bool Contains(const CharacterRanges& set, char32_t c) {
  return std::any_of(set.begin(), set.end(), [c](const auto& range) { return range.first <= c && c <= range.last; });
}

namespace internal {

SKALD_INLINE std::string Utf8Of(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
}

SKALD_INLINE char32_t CharacterIn(std::string_view utf8) {
  const auto lead = static_cast<unsigned char>(utf8[0]);
  char32_t value = utf8.size() == 1 ? lead : lead & (0x7Fu >> utf8.size());
  for (size_t i = 1; i < utf8.size(); ++i) value = value << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3F);
  return value;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_CHARACTERS_H_
