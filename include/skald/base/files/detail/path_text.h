// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/path_text.h.

#ifndef SKALD_BASE_FILES_DETAIL_PATH_TEXT_H_
#define SKALD_BASE_FILES_DETAIL_PATH_TEXT_H_

#include "skald/base/files/path_text.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/utf8.h"

namespace skald {

namespace internal {

// Returns the code point at text[i], and moves i past it. 0x110000, which is none, for half a pair of surrogates.
inline uint32_t NextCodePoint(const std::wstring& text, size_t& i) {
  constexpr uint32_t kNone = 0x110000, kPairs = 0xD800, kSecond = 0xDC00, kAfterPairs = 0xE000;
  const auto first = static_cast<uint32_t>(text[i++]);
  if (first < kPairs || first >= kAfterPairs) return first;
  const uint32_t second = i < text.size() ? static_cast<uint32_t>(text[i]) : 0;
  if (first >= kSecond || second < kSecond || second >= kAfterPairs) return kNone;
  ++i;
  return 0x10000 + ((first - kPairs) << 10 | (second - kSecond));
}

inline void AppendCodePoint(std::string& text, uint32_t code_point) {
  const auto append = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  const auto following = [&](int bits) { append(0x80 | (code_point >> bits & 0x3F)); };
  if (code_point > 0x10FFFF) {
    text += kReplacementCharacter;
  } else if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xC0 | code_point >> 6), following(0);
  } else if (code_point < 0x10000) {
    append(0xE0 | code_point >> 12), following(6), following(0);
  } else {
    append(0xF0 | code_point >> 18), following(12), following(6), following(0);
  }
}

SKALD_INLINE std::string TextOfNative(const std::wstring& native) noexcept {
  auto text = NoThrow("a path", [&]() -> Result<std::string> {
    std::string utf8;
    for (size_t i = 0; i < native.size();) AppendCodePoint(utf8, NextCodePoint(native, i));
    return utf8;
  });
  return text ? std::move(*text) : std::string("a file");  // so short a text takes no memory
}

}  // namespace internal

SKALD_INLINE std::filesystem::path PathOfText(std::string_view text) {
  if constexpr (std::is_same_v<std::filesystem::path::value_type, char>) return text;
  return std::u8string(text.begin(), text.end());
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_PATH_TEXT_H_
