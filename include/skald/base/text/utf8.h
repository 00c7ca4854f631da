// SPDX-License-Identifier: Apache-2.0
//
// Finds the boundaries of UTF-8 characters in bytes that may be incomplete or invalid, with SentencePiece's definition
// of validity: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions; safe for concurrent calls.
// Source: RFC 3629, section 4.

#ifndef SKALD_BASE_TEXT_UTF8_H_
#define SKALD_BASE_TEXT_UTF8_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skald {

/// Replaces each byte that is not part of a valid character: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

enum class Utf8Status {
  kComplete,    ///< the bytes start with a valid character
  kIncomplete,  ///< all bytes belong to a character of which more bytes are missing
  kInvalid,     ///< no further bytes can make the first one part of a valid character
};

/// The kind and length of the first character of some bytes.
struct Utf8Character {
  Utf8Status status;  ///< of these bytes
  size_t length;      ///< bytes of the character if it is complete, else 0
};

/// Returns the kind of character that `bytes`, which must not be empty, start with. May report an incomplete character
/// whose last byte will show it to be overlong, a surrogate or too large.
constexpr Utf8Character FirstUtf8Character(std::string_view bytes) {
  const auto byte = [bytes](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {Utf8Status::kComplete, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC0 || lead >= 0xF8) return {Utf8Status::kInvalid, 0};

  // The lead byte holds 7 - length bits of the code point, each further byte six.
  uint32_t code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < std::min(length, bytes.size()); ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {Utf8Status::kInvalid, 0};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  if (bytes.size() < length) return {Utf8Status::kIncomplete, 0};

  constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < kLowest[length] || surrogate || code_point > 0x10FFFF) {
    return {Utf8Status::kInvalid, 0};
  }
  return {Utf8Status::kComplete, length};
}

}  // namespace skald

#endif  // SKALD_BASE_TEXT_UTF8_H_
