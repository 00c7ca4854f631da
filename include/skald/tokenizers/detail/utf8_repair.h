// SPDX-License-Identifier: Apache-2.0
//
// Bytes that may be no UTF-8 as text: each maximal subpart of a character that is not there becomes one U+FFFD, as
// Python and browsers do. Pure functions, safe for concurrent calls.
// Source: Unicode Standard 15, chapter 3.9, table 3-7 and "U+FFFD substitution of maximal subparts".

#ifndef SKALD_TOKENIZERS_DETAIL_UTF8_REPAIR_H_
#define SKALD_TOKENIZERS_DETAIL_UTF8_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "skald/base/text/utf8.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

// The beginning of bytes: a character, or as much of one as is there.
struct Utf8Part {
  size_t length;      // bytes, at least 1
  Utf8Status status;  // kIncomplete: the bytes end in the middle of a character
};

// `bytes` must not be empty.
constexpr Utf8Part FirstUtf8Part(std::string_view bytes) {
  const auto byte = [bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, Utf8Status::kComplete};
  if (lead < 0xC2 || lead > 0xF4) return {1, Utf8Status::kInvalid};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // The second byte rules out overlong forms, surrogates and what is beyond U+10FFFF.
  const unsigned char lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, Utf8Status::kIncomplete};
    const bool follows = i == 1 ? byte(i) >= lowest && byte(i) <= highest : (byte(i) & 0xC0) == 0x80;
    if (!follows) return {i, Utf8Status::kInvalid};
  }
  return {length, Utf8Status::kComplete};
}

// A number of bytes that valid characters of one or two bytes fill, eight at a time: all of these that there are in
// front, but for the last few bytes.
inline size_t ShortCharactersPrefix(std::string_view bytes) {
  constexpr uint64_t kHighest = 0x8080808080808080u;
  size_t at = 0;
  uint64_t open = 0;  // the highest bit of byte 0 if a character of two bytes begins right before
  for (uint64_t word; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const uint64_t other = word & kHighest;
    const uint64_t begins = other & word << 1;  // the second highest bit
    const bool is_long = (begins & word << 2) != 0;
    const bool is_overlong = (begins & ~(word << 3 | word << 4 | word << 5 | word << 6)) != 0;
    if (is_long || is_overlong || (other & ~begins) != (begins << 8 | open)) break;
    open = begins >> 56;
  }
  return open == 0 ? at : at - 1;
}

// The number of bytes before the first that is no valid UTF-8.
inline size_t ValidUtf8Prefix(std::string_view bytes) {
  size_t valid = 0;
  while (valid < bytes.size()) {
    valid += ShortCharactersPrefix(bytes.substr(valid));
    if (valid == bytes.size()) break;
    const Utf8Part part = FirstUtf8Part(bytes.substr(valid));
    if (part.status != Utf8Status::kComplete) break;
    valid += part.length;
  }
  return valid;
}

// Moves what is certain from the front of `bytes` to the end of `text`: all but a character at the end of which more
// bytes may come.
inline void TakeUtf8(std::string& bytes, std::string& text) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t valid = ValidUtf8Prefix(rest);
    text += rest.substr(0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Part part = FirstUtf8Part(rest);
    if (part.status == Utf8Status::kIncomplete) break;
    text += kReplacementCharacter;
    rest.remove_prefix(part.length);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

// The same with all of the bytes.
inline void TakeLastUtf8(std::string& bytes, std::string& text) {
  TakeUtf8(bytes, text);
  if (!bytes.empty()) text += kReplacementCharacter;
  bytes.clear();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_UTF8_REPAIR_H_
