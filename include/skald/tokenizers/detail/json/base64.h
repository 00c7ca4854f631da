// SPDX-License-Identifier: Apache-2.0
//
// Bytes as tokenizer.json writes them inside of JSON: base64. Pure functions. Source: RFC 4648, section 4.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_BASE64_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_BASE64_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skald::internal {

inline constexpr std::string_view kBase64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Returns nothing where `text` is no base64.
inline std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  size_t count = 0;
  for (const char letter : text) {
    const size_t value = kBase64Letters.find(letter);
    if (value == kBase64Letters.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

inline std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  uint32_t bits = 0;
  size_t count = 0;
  const auto put = [&text](uint32_t value) { text += kBase64Letters[value & 63]; };
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) put(bits >> (count - 6));
  }
  if (count > 0) put(bits << (6 - count));
  while (text.size() % 4 != 0) text += '=';
  return text;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_BASE64_H_
