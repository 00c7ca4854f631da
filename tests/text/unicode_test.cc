// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/detail/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "doctest/doctest.h"

namespace skald::internal {
namespace unicode_test {

using enum NormalizationForm;

constexpr NormalizationForm kForms[] = {kNfc, kNfd, kNfkc, kNfkd};

std::string Utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) AppendUtf8(c, text);
  return text;
}

TEST_CASE("characters are taken off a text one by one") {
  CHECK(FirstCodePoint("a").value == U'a');
  for (const char32_t c : {0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    const std::string text = Utf8(std::u32string(1, c));
    CHECK(FirstCodePoint(text).value == c);
    CHECK(FirstCodePoint(text).length == text.size());
    CHECK(FirstCodePoint(text.substr(0, 1)).length == 1);
  }
}

TEST_CASE("characters have the categories of the standard") {
  CHECK((IsLetter(U'a') && IsLetter(0x4E2D) && IsLetter(0x2B0) && !IsLetter(0x301) && !IsLetter(U'1')));
  CHECK((IsNumber(U'1') && IsNumber(0xBD) && IsNumber(0x2167) && !IsNumber(U'a')));
  CHECK((IsMark(0x301) && IsMark(0x93E) && !IsMark(0xB4)));
  CHECK((IsSymbol(U'+') && IsSymbol(0x20AC) && IsSymbol(0x1F600) && !IsSymbol(U'!')));
  CHECK((IsWhiteSpace(0x85) && IsWhiteSpace(0x2028) && IsWhiteSpace(0x3000)));
  CHECK((!IsWhiteSpace(0x180E) && !IsWhiteSpace(0x200B) && !IsWhiteSpace(0xFEFF) && !IsWhiteSpace(0x1F)));
}

TEST_CASE("lower case looks at each character alone") {
  CHECK(LowerCase("HeLLo 1!") == "hello 1!");
  CHECK(LowerCase(Utf8(U"\u039F\u0394\u039F\u03A3")) == Utf8(U"\u03BF\u03B4\u03BF\u03C3"));
  CHECK(LowerCase(Utf8(U"\u0130\u212A\u00DF")) == Utf8(U"i\u0307k\u00DF"));
}

TEST_CASE("normal forms") {
  const std::string text = Utf8(U"e\u0301 \u00E9 \uFB01 \u212B \uAC01 q\u0307\u0323");
  CHECK(*Normalize(kNfc, text) == Utf8(U"\u00E9 \u00E9 \uFB01 \u00C5 \uAC01 q\u0323\u0307"));
  CHECK(*Normalize(kNfd, text) == Utf8(U"e\u0301 e\u0301 \uFB01 A\u030A \u1100\u1161\u11A8 q\u0323\u0307"));
  CHECK(*Normalize(kNfkc, text) == Utf8(U"\u00E9 \u00E9 fi \u00C5 \uAC01 q\u0323\u0307"));
  CHECK(*Normalize(kNfkd, text) == Utf8(U"e\u0301 e\u0301 fi A\u030A \u1100\u1161\u11A8 q\u0323\u0307"));
}

TEST_CASE("zeros in a text and texts of any length are normalised") {
  const std::string zeros("a\0e\xCC\x81\0", 6);
  CHECK(*Normalize(kNfc, zeros) == std::string("a\0\xC3\xA9\0", 5));
  CHECK(Normalize(kNfc, "")->empty());
  std::string accents = "a";
  for (int i = 0; i < 100'000; ++i) accents += i % 2 == 0 ? "\xCC\x82" : "\xCC\xA3";
  CHECK(Normalize(kNfd, accents)->size() == accents.size());
}

TEST_CASE("characters compose, and those that must not stay apart") {
  CHECK(*Normalize(kNfc, Utf8(U"\u1100\u1161\u11A8")) == Utf8(U"\uAC01"));
  CHECK(*Normalize(kNfc, Utf8(U"\uAC00\u11A8")) == Utf8(U"\uAC01"));
  CHECK(*Normalize(kNfc, Utf8(U"\u304B\u3099")) == Utf8(U"\u304C"));
  CHECK(*Normalize(kNfc, Utf8(U"\u0958")) == Utf8(U"\u0915\u093C"));
}

// The promise of IsStable, checked for all characters.
TEST_CASE("characters that are called stable are their own normal form and compose with nothing before them") {
  int changed = 0, second = 0;
  for (utf8proc_int32_t c = 0; c < 0x110000; ++c) {
    if (!utf8proc_codepoint_valid(c)) continue;
    const std::string text = Utf8(std::u32string(1, static_cast<char32_t>(c)));
    for (const NormalizationForm form : kForms) {
      if (!IsStable(static_cast<char32_t>(c), form)) continue;
      std::string normal;
      StretchNormalizer(form).Append(text, normal);
      changed += normal != text || utf8proc_get_property(c)->combining_class != 0;
    }
    utf8proc_int32_t parts[4];  // the longest canonical decomposition
    const auto count = utf8proc_decompose_char(c, parts, 4, UTF8PROC_DECOMPOSE, nullptr);
    for (int i = 1; i < count; ++i) second += IsStable(static_cast<char32_t>(parts[i]), kNfc);
  }
  CHECK(changed == 0);
  CHECK(second == 0);
}

TEST_CASE("normal forms of random texts are those of the library's own function") {
  const std::u32string characters =
      U"ab \u00E9\u00C5\u0301\u0308\u0323\u0327\u0345\u1100\u1161\u11A8\uAC00\u304B\u3099\u4E2D\u0915\u093C\u09C7\u09BE"
      U"\u212B\uFB01\u00BD\u0344\u0958\uFF21\uF900\u0430\u0639\u0653\u0627\U0001F600\u0F71\u0F72\u0F74\u3000";
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::u32string text;
    for (size_t count = random() % 12; count > 0; --count) text += characters[random() % characters.size()];
    const std::string utf8 = Utf8(text);
    for (const NormalizationForm form : kForms) {
      const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(utf8.c_str());
      utf8proc_uint8_t* const expected = form == kNfc    ? utf8proc_NFC(bytes)
                                         : form == kNfd  ? utf8proc_NFD(bytes)
                                         : form == kNfkc ? utf8proc_NFKC(bytes)
                                                         : utf8proc_NFKD(bytes);
      CHECK(*Normalize(form, utf8) == reinterpret_cast<const char*>(expected));
      std::free(expected);
    }
  }
}

}  // namespace unicode_test
}  // namespace skald::internal
