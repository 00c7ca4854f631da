// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/detail/split_pattern.h"

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/gguf/gguf_pre_tokenizers.h"
#include "tests/support/long_tests.h"

namespace skald::internal {
namespace split_pattern_test {

std::vector<std::string> Pieces(const SplitPattern& pattern, std::string_view text) {
  std::vector<ByteRange> matches;
  REQUIRE(pattern.FindAll(text, matches));
  std::vector<std::string> pieces;
  for (const ByteRange& match : matches) pieces.emplace_back(match.Of(text));
  return pieces;
}

std::vector<std::string> Pieces(std::string_view regex, std::string_view text) {
  return Pieces(SplitPattern::Compile(regex).value(), text);
}

using Strings = std::vector<std::string>;

TEST_CASE("matches of a regular expression do not overlap, and what lies between them is left out") {
  CHECK(Pieces("a+|b", "aaxbab") == Strings{"aa", "b", "a", "b"});
  CHECK(Pieces(R"(\p{N}{1,3})", "1234 \xC2\xBD") == Strings{"123", "4", "\xC2\xBD"});
  CHECK(Pieces("a", "").empty());
}

TEST_CASE("an empty match counts unless it follows a match at once") {
  std::vector<ByteRange> matches;
  REQUIRE(SplitPattern::Compile("x*").value().FindAll("a\xC3\xA9xxb", matches));
  CHECK(matches == std::vector<ByteRange>{{0, 0}, {1, 1}, {3, 5}, {6, 6}});
  REQUIRE(SplitPattern::Compile("").value().FindAll("", matches));
  CHECK(matches == std::vector<ByteRange>{{0, 0}});
}

TEST_CASE("a literal is found as it stands") {
  CHECK(Pieces(SplitPattern::Literal("a.b"), "a.ba.b axb") == Strings{"a.b", "a.b"});
  const std::string zeros("\0\0\0", 3);
  CHECK(Pieces(SplitPattern::Literal(zeros.substr(0, 2)), zeros) == Strings{zeros.substr(0, 2)});
  std::vector<ByteRange> matches;
  REQUIRE(SplitPattern::Literal("").FindAll("\xC3\xA9x", matches));
  CHECK(matches == std::vector<ByteRange>{{0, 0}, {2, 2}, {3, 3}});
}

TEST_CASE("a pattern that does not compile is refused by name") {
  const auto pattern = SplitPattern::Compile("a(b\n");
  REQUIRE_FALSE(pattern);
  CHECK(pattern.error().message ==
        "the split pattern \"a(b?\" does not compile: end pattern with unmatched parenthesis");
  CHECK_FALSE(SplitPattern::Compile(R"(\p{Nonsense})"));
}

TEST_CASE("a pattern that takes exponential time is an error, and soon") {
  std::vector<ByteRange> matches;
  const auto result = SplitPattern::Compile("(a+)+b").value().FindAll(std::string(60, 'a'), matches);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kResourceExhausted);
  // Many searches, none of which takes too many steps by itself.
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(20, 'a') + " ";
  CHECK_FALSE(SplitPattern::Compile("(a+)+b|a").value().FindAll(text, matches));
}

TEST_CASE("a long word and long white space need few steps") {
  const SplitPattern pattern = SplitPattern::Compile(R"((?:'s| ?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+))").value();
  CHECK(Pieces(pattern, std::string(200'000, 'a')).size() == 1);
  CHECK(Pieces(pattern, std::string(200'000, ' ') + "a").size() == 2);
}

// --- Scanners written by hand ------------------------------------------------------------------------------------

// Parts of random texts: characters whose categories are the same in every version of Unicode since 6, so that no two
// libraries disagree about them.
const std::vector<std::string>& TextParts() {
  static const std::vector<std::string> parts = [] {
    Strings all;
    for (char c = 0; c >= 0 && c < 127; ++c) all.emplace_back(1, c);
    for (const char* const part :
         {"'s",        "'S",   "'t",        "'re",   "'RE",  "'Ve",          "'m",   "'ll", "'lL", "'D",
          "'\xC5\xBF", "'",    " '",        "\r\n",  "\n\n", "   ",          " \n ", "//",  "/\n", "word",
          " Word",     "WORD", "camelCase", "12345", " 7",   "http://x.y/z", "...",  " !?"}) {
      all.emplace_back(part);
    }
    const char32_t characters[] = {
        0x85,   0xA0,    0x1680,  0x2000,  0x2005,  0x200A, 0x2028, 0x2029,  0x202F,  0x205F,  0x3000,  // white space
        0x200B, 0x200D,  0xFEFF,  0xAD,    0x2060,  0xE000, 0xFFFD, 0xFFFF,  0xE0001, 0x80,    0x9F,    // none
        0xAA,   0xB5,    0xDF,    0xE9,    0xC9,    0x130,  0x131,  0x17F,   0x212A,  0x1C5,   0x1F88,  // letters
        0x2B0,  0x3C3,   0x3A3,   0x416,   0x436,   0x5D0,  0x627,  0x905,   0xE01,   0x4E2D,  0x3042,  //
        0xAC00, 0x1D400, 0x10400, 0x10428, 0x20000, 0x16A0, 0x2D00, 0xFB01,                             //
        0x301,  0x308,   0x93E,   0x903,   0x20DD,  0xFE0F, 0x64B,  0xE31,   0x1D165,                   // marks
        0x660,  0x967,   0xB2,    0xBD,    0x2167,  0x2460, 0x3007, 0xFF11,  0x1D7D8, 0x10107,          // numbers
        0x2013, 0x2019,  0x3001,  0xA1,    0x20AC,  0x2211, 0xB4,   0x1F600, 0x1F3FD, 0x2764,  0x5F3};  // signs
    for (const char32_t c : characters) AppendUtf8(c, all.emplace_back());
    return all;
  }();
  return parts;
}

std::string RandomText(std::mt19937& random) {
  const Strings& parts = TextParts();
  std::string text;
  // Rows of the same kind are what the patterns are about, so each part may be repeated.
  for (size_t count = random() % 12; count > 0; --count) {
    const std::string& part = parts[random() % parts.size()];
    for (size_t repeated = random() % 4 == 0 ? random() % 5 : 1; repeated > 0; --repeated) text += part;
  }
  return text;
}

TEST_CASE("scanners of published patterns find what Oniguruma finds") {
  const int texts = testing::LongTests() ? 1'000'000 : 20'000;
  for (const PublishedPattern& published : kPublishedPatterns) {
    CAPTURE(published.regex);
    const SplitPattern scanner = SplitPattern::Compile(published.regex).value();
    const SplitPattern regex = SplitPattern::Compile("(?:" + std::string(published.regex) + ")").value();
    std::mt19937 random(1);
    std::vector<ByteRange> scanned, searched;
    int differences = 0;
    for (int i = 0; i < texts && differences == 0; ++i) {
      const std::string text = RandomText(random);
      REQUIRE(scanner.FindAll(text, scanned));
      REQUIRE(regex.FindAll(text, searched));
      CAPTURE(text);
      CHECK(scanned == searched);
      differences += scanned != searched;
    }
  }
}

TEST_CASE("a pattern that looks far ahead from each place is stopped, and one that takes long words is not") {
  std::vector<ByteRange> matches;
  // Only a text as long as that needs more than a bounded time for each letter.
  const SplitPattern thousands = SplitPattern::Compile(kSplitThousands).value();
  REQUIRE(thousands.FindAll(std::string(10'000, '7'), matches));
  CHECK(matches.size() == 3334);
  CHECK(matches[0] == ByteRange{0, 1});
  const Result<void> stopped = thousands.FindAll(std::string(300'000, '7'), matches);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kResourceExhausted);
  const SplitPattern words = SplitPattern::Compile(R"((?:\p{L}|\p{M})+|\s+)").value();
  REQUIRE(words.FindAll(std::string(1'000'000, 'a'), matches));
  CHECK(matches == std::vector<ByteRange>{{0, 1'000'000}});
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(3000, 'a') + " ";
  REQUIRE(words.FindAll(text, matches));
  CHECK(matches.size() == 2000);
}

TEST_CASE("scanners go through bytes that are no UTF-8 without reading beyond them") {
  std::mt19937 random(2);
  std::vector<ByteRange> matches;
  for (const PublishedPattern& published : kPublishedPatterns) {
    for (int i = 0; i < 1000; ++i) {
      std::vector<char> bytes(random() % 20);
      for (char& byte : bytes) byte = static_cast<char>(random());
      published.scan({bytes.data(), bytes.size()}, matches);
    }
    size_t end = 0;
    for (const ByteRange& match : matches) end = match.begin == 0 ? match.end : end;
    CHECK(end <= 20);
    matches.clear();
  }
}

}  // namespace split_pattern_test
}  // namespace skald::internal
