// SPDX-License-Identifier: Apache-2.0
//
// Grammars in GBNF: what they take, and errors that name the line.

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace gbnf_test {

using namespace filter_tests;  // NOLINT: of this file only

TEST_CASE("Characters are spelled by intervals of bytes that spell nothing else") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const char32_t a = random() % (0x110000 >> random() % 16), b = random() % (0x110000 >> random() % 16);
    const CharacterRanges set = Tidied({{std::min(a, b), std::max(a, b)}});
    std::vector<std::vector<internal::ByteInterval>> sequences;
    for (const CharacterRange& range : set) {
      internal::TellUtf8(
          range, [&](std::span<const internal::ByteInterval> s) { sequences.emplace_back(s.begin(), s.end()); });
    }
    for (int i = 0; i < 200; ++i) {
      const char32_t near = (i % 2 == 0 ? a : b) + random() % 200 - 100, far = random() % 0x110000;
      const char32_t c = std::min<char32_t>(i % 3 == 0 ? far : near, kLastCharacter);
      if (c >= kSurrogates.first && c <= kSurrogates.last) continue;
      const std::string utf8 = internal::Utf8Of(c);
      CHECK(internal::CharacterIn(utf8) == c);
      const auto spells = [&](const std::vector<internal::ByteInterval>& sequence) {
        return std::equal(sequence.begin(), sequence.end(), utf8.begin(), utf8.end(), [](auto interval, char byte) {
          const auto value = static_cast<uint8_t>(byte);
          return interval.first <= value && value <= interval.last;
        });
      };
      CHECK(std::count_if(sequences.begin(), sequences.end(), spells) == (Contains(set, c) ? 1 : 0));
    }
  }
  CHECK(Complement({{0, 0xD7FF}, {0xE000, 0x10FFFF}}).empty());
  CHECK(Complement({}) == CharacterRanges{{0, 0xD7FF}, {0xE000, 0x10FFFF}});
}

TEST_CASE("GBNF: literals, characters, names, repetitions, alternatives") {
  const GrammarFilter chess = OfGbnf(R"(# moves
root ::= (
    "1. " move " " move "\n"   # the first
    ([1-9] [0-9]? ". " move " " move "\n")+
)
move ::= (pawn | nonpawn |
          castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
)");
  CHECK(Takes(chess, "1. e4 e5\n2. Nf3 Nc6\n"));
  CHECK(Takes(chess, "1. e4 e5\n2. O-O-O exd8=Q+\n13. Kxe1 O-O\n"));
  CHECK(Try(chess, "1. e4 e5\n2. Nf3") == Fit::kBegins);
  CHECK(Try(chess, "1. e9") == Fit::kNo);
  CHECK(Try(chess, "2. ") == Fit::kNo);

  const GrammarFilter list = OfGbnf("root ::= (\"- \" item){2,3}\nitem ::= [^\\n]+ \"\\n\"");
  CHECK(Takes(list, "- a\n- \xC3\xA9\n"));
  CHECK(Try(list, "- a\n") == Fit::kBegins);
  CHECK(Takes(list, "- a\n- b\n- c\n"));
  CHECK(Try(list, "- a\n- b\n- c\n-") == Fit::kNo);
  CHECK(Try(list, "- \n") == Fit::kNo);
  CHECK(Try(list, "- \xC3\n") == Fit::kNo);  // half of a character

  CHECK(
      Takes(OfGbnf("root ::= [\\x41-\\x43] \"\\u00e9\\U0001F600\\\"\\\\\" [\\]a-]"), "B\xC3\xA9\xF0\x9F\x98\x80\"\\-"));
  CHECK(Takes(OfGbnf("root ::= .{2}"), "\xE4\xBD\xA0."));
  const GrammarFilter counts = OfGbnf("root ::= \"a\"{2,} | \"b\"{2} | \"c\"{ 1 , 2 }?");
  for (const char* const text : {"aa", "aaaa", "bb", "", "c", "cc"}) CHECK(Takes(counts, text));
  for (const char* const text : {"a", "b", "bbb", "ccc"}) CHECK_FALSE(Takes(counts, text));
}

TEST_CASE("GBNF: nested calls, also of a rule by itself at its end") {
  const GrammarFilter nested = OfGbnf("root ::= \"(\" root \")\" | \"x\"");
  CHECK(Takes(nested, "((x))"));
  CHECK(Try(nested, "((x)") == Fit::kBegins);
  CHECK(Try(nested, "(x))") == Fit::kNo);
  // A loop that needs no memory.
  CHECK(Takes(OfGbnf("root ::= [ab] root | \"\""), std::string(2000, 'a')));
  // As deep as the limit lets, so that all can be closed.
  std::string open(kMaxGrammarDepth - 1, '(');
  CHECK(Takes(nested, open + "x" + std::string(open.size(), ')')));
  CHECK(Try(nested, open + "(") == Fit::kNo);
  CHECK(Takes(OfGbnf("root ::= a a*\na ::= \"\" | \"(\" a \")\" | [ab]* \"!\""), "(ab!)a!"));
}

TEST_CASE("GBNF: errors name the line") {
  const auto error = [](std::string_view text) { return ErrorOf(ParseGbnf(text)); };
  CHECK(Has(error("root ::= \"a\"\nroot ::= \"b\""), "line 2 of the grammar: rule 'root' is defined twice"));
  CHECK(Has(error("other ::= \"a\""), "no rule 'root'"));
  CHECK(Has(error("root ::= \"a\"\n b"), "line 2"));
  CHECK(Has(error("root ::= \"a\"\nb := \"c\""), "line 2 of the grammar: expected ::= after 'b'"));
  CHECK(Has(error("root ::= \"a\n"), "expected \""));
  CHECK(Has(error("root ::=\n x y\nx ::= \"1\""), "line 2 of the grammar: there is no rule 'y'"));
  CHECK(Has(error("root ::= (\"a\""), "expected )"));
  CHECK(Has(error("root ::= \"\\q\""), "unknown escape"));
  CHECK(Has(error("root ::= \"\\ud800\""), "no character"));
  CHECK(Has(error("root ::= \"\\x4\""), "2 hexadecimal digits"));
  CHECK(Has(error("root ::= [z-a]"), "ends before it begins"));
  CHECK(Has(error("root ::= \"a\"{3,2}"), "fewer times"));
  CHECK(Has(error("root ::= \"a\"{x}"), "expected a number"));
  CHECK(Has(error("root ::= <think>"), "not supported"));
  CHECK(Has(error("root ::= \"\xFF\""), "UTF-8"));
  CHECK(Has(error("root ::= root \"a\" | \"b\""), "rule 'root' calls itself before any character"));
  CHECK(Has(error("root ::= \"x\" a\na ::= b* a \"c\"\nb ::= \"d\""), "rule 'a' calls itself"));
  CHECK(Has(error("root ::= \"a\" root"), "allows no text"));
  CHECK(Has(error("root ::= (\"a\" | \"ab\"){1000000}"), "too large"));
  CHECK(Has(error("root ::= ((\"\"{1000000}){1000000}){1000000}"), "too large"));
  CHECK(Has(error("root ::= [ab]* \"a\" [ab]{30}"), "too large"));
  CHECK(Has(error("root ::= " + std::string(200, '(') + "\"a\""), "parentheses"));
  CHECK(Has(error(std::string(kMaxGrammarText + 1, '#')), "bytes"));
  std::string rules = "root ::= \"a\"\n", chain = "root ::= r0\n";
  for (size_t i = 0; i <= kMaxGrammarRules; ++i) rules += "r" + std::to_string(i) + " ::= \"a\"\n";
  CHECK(Has(error(rules), "rules"));
  for (size_t i = 0; i < 5000; ++i)
    chain += "r" + std::to_string(i) + " ::= \"a\"* r" + std::to_string(i + 1) + " \"b\"\n";
  CHECK(Has(error(chain + "r5000 ::= \"a\""), "calls of rules within calls"));
}

}  // namespace gbnf_test
}  // namespace skald
