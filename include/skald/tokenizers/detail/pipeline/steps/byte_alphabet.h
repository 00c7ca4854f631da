// SPDX-License-Identifier: Apache-2.0
//
// How byte-level vocabularies write bytes as letters, so that every piece is readable text: printable bytes of Latin-1
// are themselves, the others are the letters from U+0100 on in their order ("\xC4\xA0", U+0120, is a space). Pure
// functions, safe for concurrent calls. Source: the function bytes_to_unicode of GPT-2, github.com/openai/gpt-2.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_BYTE_ALPHABET_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_BYTE_ALPHABET_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

// The letters up to the last one of the alphabet.
inline constexpr size_t kByteLetters = 0x144;

struct ByteAlphabet {
  std::array<char32_t, 256> letter_of = {};
  std::array<int16_t, kByteLetters> byte_of = {};  // -1 for a character that is no letter of a byte
};

constexpr ByteAlphabet MakeByteAlphabet() {
  ByteAlphabet alphabet;
  for (int16_t& byte : alphabet.byte_of) byte = -1;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t letter = printable ? static_cast<char32_t>(byte) : next++;
    alphabet.letter_of[static_cast<size_t>(byte)] = letter;
    alphabet.byte_of[letter] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

inline constexpr ByteAlphabet kByteAlphabet = MakeByteAlphabet();

// Appends the letters of `bytes`.
inline void AppendByteLetters(std::string_view bytes, std::string& letters) {
  for (const char byte : bytes) AppendUtf8(kByteAlphabet.letter_of[static_cast<unsigned char>(byte)], letters);
}

// Writes the bytes of `letters`, valid UTF-8, to `bytes`, which has room for as many as `letters` has. Returns their
// number, or nothing if a character of them is no letter of the alphabet.
inline std::optional<size_t> LettersToBytes(std::string_view letters, char* bytes) {
  size_t written = 0;
  for (size_t at = 0; at < letters.size();) {
    const auto lead = static_cast<unsigned char>(letters[at]);
    const auto next = static_cast<unsigned char>(letters[std::min(at + 1, letters.size() - 1)]);
    const bool is_ascii = lead < 0x80;  // no branches here: one letter says little about the next one
    const uint32_t letter = is_ascii ? lead : (uint32_t{lead} - 0xC0) << 6 | (next & 0x3F);
    const int16_t byte = letter < kByteLetters ? kByteAlphabet.byte_of[letter] : int16_t{-1};
    if (byte < 0) return std::nullopt;
    bytes[written++] = static_cast<char>(byte);
    at += is_ascii ? 1 : 2;
  }
  return written;
}

// Appends the same. Returns false, and leaves `bytes` as it was, if a character is no letter of the alphabet.
inline bool AppendLettersBytes(std::string_view letters, std::string& bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + letters.size());
  const std::optional<size_t> written = LettersToBytes(letters, bytes.data() + before);
  bytes.resize(before + written.value_or(0));
  return written.has_value();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_BYTE_ALPHABET_H_
