// SPDX-License-Identifier: Apache-2.0

#include "skald/base/text/utf8.h"

#include <string>

#include "doctest/doctest.h"

namespace skald {
namespace utf8_test {

// UTF-8 by the table of RFC 3629, for any number below 2^21.
std::string Utf8(uint32_t code_point) {
  const auto trail = [&](int shift) { return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xC0 | code_point >> 6), trail(0)};
  if (code_point < 0x10000) return {static_cast<char>(0xE0 | code_point >> 12), trail(6), trail(0)};
  return {static_cast<char>(0xF0 | code_point >> 18), trail(12), trail(6), trail(0)};
}

TEST_CASE("every code point but the surrogates is a complete character of its length") {
  size_t wrong = 0;
  for (uint32_t code_point = 0; code_point < 0x200000; ++code_point) {
    const std::string bytes = Utf8(code_point);
    const Utf8Character character = FirstUtf8Character(bytes);
    const bool valid = code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
    const Utf8Status expected = valid ? Utf8Status::kComplete : Utf8Status::kInvalid;
    wrong += character.status != expected || character.length != (valid ? bytes.size() : 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("every beginning of a character is incomplete, and what follows a character does not matter") {
  for (const uint32_t code_point : {0x80u, 0x7FFu, 0x800u, 0xFFFDu, 0x10000u, 0x10FFFFu}) {
    const std::string bytes = Utf8(code_point);
    for (size_t length = 1; length < bytes.size(); ++length) {
      CHECK(FirstUtf8Character(bytes.substr(0, length)).status == Utf8Status::kIncomplete);
    }
    for (const char next : {'a', '\x80', '\xFF'}) {
      CHECK(FirstUtf8Character(bytes + next).length == bytes.size());
    }
  }
}

TEST_CASE("a beginning followed by anything but a continuation byte is invalid at once") {
  for (const std::string bytes : {"\xC3(", "\xE2\x82(", "\xE2(", "\xF0\x9F\x98(", "\xF0(", "\xF0\x9F\xC3"}) {
    CHECK(FirstUtf8Character(bytes).status == Utf8Status::kInvalid);
  }
}

TEST_CASE("bytes that start no character are invalid") {
  for (int byte = 0x80; byte < 0x100; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    const bool starts = byte >= 0xC0 && byte < 0xF8;
    CHECK(FirstUtf8Character(bytes).status == (starts ? Utf8Status::kIncomplete : Utf8Status::kInvalid));
  }
}

TEST_CASE("overlong forms are invalid") {
  for (const std::string bytes :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"}) {
    CHECK(FirstUtf8Character(bytes).status == Utf8Status::kInvalid);
  }
}

}  // namespace utf8_test
}  // namespace skald
