// SPDX-License-Identifier: Apache-2.0
//
// Characters as Python counts and classifies them, in bytes that may be any: a byte that is not part of valid UTF-8 is
// a character of its own. Pure functions. Case and categories come from utf8proc; the few characters whose capitals are
// several letters are from the Unicode Character Database, SpecialCasing.txt.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_CHARACTERS_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_CHARACTERS_H_

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/text/utf8.h"

namespace skald::internal::jinja {

// The bytes of the first character of a text that is not empty.
inline size_t CharacterSize(std::string_view text) {
  const Utf8Character first = FirstUtf8Character(text);
  return first.status == Utf8Status::kComplete ? first.length : 1;
}

// The code point of one character; -1 for a byte that is none.
inline int32_t CodePoint(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<int32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0) < 0x80 ? byte(0) : -1;
  int32_t code = byte(0) & (0x7F >> character.size());
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3F);
  return code;
}

inline void AppendCodePoint(int32_t code, std::string& text) {
  utf8proc_uint8_t bytes[4];
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(utf8proc_encode_char(code, bytes)));
}

inline size_t CountCharacters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(CharacterSize(text));
  return count;
}

// The bytes before character `index`, or of the whole text if there are not so many.
inline size_t OffsetOfCharacter(std::string_view text, size_t index) {
  std::string_view rest = text;
  for (; index > 0 && !rest.empty(); --index) rest.remove_prefix(CharacterSize(rest));
  return text.size() - rest.size();
}

// White space as str.isspace() and str.strip() have it.
inline bool IsSpace(int32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

// The bytes of white space at the beginning and at the end of a text.
inline size_t LeadingSpaces(std::string_view text) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const size_t size = CharacterSize(text.substr(bytes));
    if (!IsSpace(CodePoint(text.substr(bytes, size)))) break;
    bytes += size;
  }
  return bytes;
}

// The bytes of the last character of a text that is not empty.
inline size_t LastCharacterSize(std::string_view text) {
  for (size_t size = std::min<size_t>(4, text.size()); size > 1; --size) {
    if (CharacterSize(text.substr(text.size() - size)) == size) return size;
  }
  return 1;
}

inline size_t TrailingSpaces(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t size = LastCharacterSize(text.substr(0, end));
    if (!IsSpace(CodePoint(text.substr(end - size, size)))) break;
    end -= size;
  }
  return text.size() - end;
}

enum class Case { kUpper, kLower, kTitle };

inline bool IsLetter(int32_t code) {
  const utf8proc_category_t category = code < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
inline bool IsDecimal(int32_t code) { return code >= 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_ND; }
inline bool IsNumeric(int32_t code) {
  const utf8proc_category_t category = code < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
inline bool IsUpper(int32_t code) {
  return code >= 0 && utf8proc_tolower(code) != code && utf8proc_category(code) != UTF8PROC_CATEGORY_LT;
}
inline bool IsLower(int32_t code) {
  return code >= 0 && (utf8proc_toupper(code) != code || utf8proc_category(code) == UTF8PROC_CATEGORY_LL) &&
         utf8proc_category(code) != UTF8PROC_CATEGORY_LT && !IsUpper(code);
}
inline bool IsCased(int32_t code) {
  return IsUpper(code) || IsLower(code) || (code >= 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_LT);
}

// Appends a character in another case.
inline void AppendInCase(int32_t code, Case to, std::string& text) {
  struct Special {
    int32_t code;
    std::string_view upper, title;
  };
  static constexpr Special kSpecials[] = {{0xDF, "SS", "Ss"},
                                          {0x149, "\xCA\xBCN", "\xCA\xBCN"},
                                          {0x1F0, "J\xCC\x8C", "J\xCC\x8C"},
                                          {0x587, "\xD4\xB5\xD5\x92", "\xD4\xB5\xD6\x82"},
                                          {0x1E96, "H\xCC\xB1", "H\xCC\xB1"},
                                          {0x1E97, "T\xCC\x88", "T\xCC\x88"},
                                          {0x1E98, "W\xCC\x8A", "W\xCC\x8A"},
                                          {0x1E99, "Y\xCC\x8A", "Y\xCC\x8A"},
                                          {0x1E9A, "A\xCA\xBE", "A\xCA\xBE"},
                                          {0xFB00, "FF", "Ff"},
                                          {0xFB01, "FI", "Fi"},
                                          {0xFB02, "FL", "Fl"},
                                          {0xFB03, "FFI", "Ffi"},
                                          {0xFB04, "FFL", "Ffl"},
                                          {0xFB05, "ST", "St"},
                                          {0xFB06, "ST", "St"}};
  if (to == Case::kLower) {
    if (code == 0x130) {  // a capital I with a dot keeps the dot
      text += "i\xCC\x87";
    } else {
      AppendCodePoint(utf8proc_tolower(code), text);
    }
    return;
  }
  for (const Special& special : kSpecials) {
    if (special.code == code) {
      text += to == Case::kUpper ? special.upper : special.title;
      return;
    }
  }
  AppendCodePoint(to == Case::kUpper ? utf8proc_toupper(code) : utf8proc_totitle(code), text);
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_CHARACTERS_H_
