// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "doctest/doctest.h"
#include "skald/text/filters/gbnf.h"
#include "skald/text/filters/grammar_filter.h"
#include "skald/text/filters/json_schema.h"
#include "skald/text/filters/token_vocabulary.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace token_filters_test {

using Vocabulary = std::shared_ptr<const TokenVocabulary>;

// All bytes by their own ids, then pieces as vocabularies have them, then what ends a text.
const std::vector<std::string>& Pieces() {
  static const std::vector<std::string> pieces = [] {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
    for (const char* piece : {"\":",      "\": ",     "\",",    "\", \"",
                              "{\"",      "[\"",      "\"}",    "\"]",
                              "},",       "},{",      "}]",     "]]",
                              "[[[",      "[]",       "{}",     "true",
                              "false",    "null",     "tru",    "ll",
                              "  ",       "    ",     "\n  ",   "\n",
                              ",\n",      " \"",      "12",     "123",
                              "999",      "0.",       ".5",     "-1",
                              "e+",       "name",     "age",    "abc",
                              "bc",       "\\n",      "\\\"",   "\\u",
                              "\\\\",     "00",       "u00",    "d83",
                              "\xC3\xA9", "\xE2\x82", "\xAC",   "\xF0\x9F\x98",
                              "\x98\x80", "\xA9\"",   "word\"", "x\", \"y\": ",
                              "2024",     "-0",       "T1",     ":0",
                              "Z\"",      "::",       "@",      ".com",
                              "1.1",      "a\": 1",   "P1",     "\xE4\xBD\xA0\xE5\xA5\xBD",
                              " a",       " b",       "\t",     "]",
                              "]]]]]]]]"}) {
      all.emplace_back(piece);
    }
    for (char a = 'a'; a <= 'z'; ++a) {
      for (char b = 'a'; b <= 'e'; ++b) all.push_back({a, b});
    }
    all.emplace_back("</s>");
    return all;
  }();
  return pieces;
}
int32_t End() { return static_cast<int32_t>(Pieces().size() - 1); }

const Vocabulary& SmallVocabulary() {
  static const Vocabulary vocabulary = TokenVocabulary::From(Pieces(), std::array{End()}).value();
  return vocabulary;
}

GrammarFilter Compiled(const Result<Grammar>& grammar, const Vocabulary& vocabulary = SmallVocabulary()) {
  REQUIRE_MESSAGE(grammar.has_value(), (grammar ? "" : grammar.error().message));
  Result<GrammarFilter> filter = GrammarFilter::Compile(*grammar, vocabulary);
  REQUIRE_MESSAGE(filter.has_value(), (filter ? "" : filter.error().message));
  return *std::move(filter);
}
GrammarFilter OfGbnf(std::string_view text) { return Compiled(ParseGbnf(text)); }
GrammarFilter OfSchema(std::string_view text) { return Compiled(ParseJsonSchema(text)); }

std::span<const uint64_t> Allowed(TokenFilter& filter) {
  const Result<std::span<const uint64_t>> allowed = filter.Allowed();
  REQUIRE_MESSAGE(allowed.has_value(), (allowed ? "" : allowed.error().message));
  return *allowed;
}

enum class Fit { kNo, kBegins, kWhole };

// How far a text is one of the grammar, byte by byte; what Allowed says is held against Accept on the way.
Fit Try(const GrammarFilter& start, std::string_view text) {
  GrammarFilter filter = start;
  for (const char c : text) {
    const auto id = static_cast<int32_t>(static_cast<unsigned char>(c));
    const bool allowed = IsAllowed(Allowed(filter), id);
    CHECK(filter.Accept(id).has_value() == allowed);
    if (!allowed) return Fit::kNo;
  }
  CHECK(IsAllowed(Allowed(filter), End()) == filter.IsComplete());
  return filter.IsComplete() ? Fit::kWhole : Fit::kBegins;
}
bool Takes(const GrammarFilter& filter, std::string_view text) { return Try(filter, text) == Fit::kWhole; }

std::string ErrorOf(const Result<Grammar>& grammar) {
  if (!grammar) return grammar.error().message;
  const Result<GrammarFilter> filter = GrammarFilter::Compile(*grammar, SmallVocabulary());
  REQUIRE_FALSE(filter);
  return filter.error().message;
}
bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Every id that Allowed has is one that a copy accepts, and no other.
void CheckMask(GrammarFilter& filter) {
  const std::span<const uint64_t> allowed = Allowed(filter);
  for (int32_t id = 0; static_cast<size_t>(id) < Pieces().size(); ++id) {
    const Result<std::unique_ptr<TokenFilter>> copy = filter.Clone();
    REQUIRE(copy);
    CAPTURE(Pieces()[static_cast<size_t>(id)]);
    CHECK((*copy)->Accept(id).has_value() == IsAllowed(allowed, id));
  }
}

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
  CHECK(Has(error("root ::= \"a\"\nb := \"c\""), "line 2 of the grammar: expected ::= behind 'b'"));
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
  CHECK(Has(error("root ::= \"a\"{1000000}"), "too large"));
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

TEST_CASE("JSON Schema: each keyword, what it takes and what not") {
  struct Case {
    const char* schema;
    std::vector<const char*> takes, refuses;
  };
  const Case cases[] = {
      {R"({"type":"string"})",
       {R"("")", R"("a\"\\\/\b\u00e9\ud83D\uDE00")", "\"\xC3\xA9\""},
       {"1", "\"\n", R"("\ud800")", R"("\x)"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("a\nc")", "\"\xC3\xA9\xC3\xA9\xC3\xA9\""},
       {R"("a")", R"("abcd)"}},
      {R"({"type":"string","pattern":"^a[b-d]+$"})", {R"("ab")", R"("abcd")"}, {R"("a")", R"("xab)", R"("abe)"}},
      {R"({"type":"string","pattern":"b"})", {R"("b")", R"("abc")", R"("\"b\n")"}, {R"("ac")"}},
      {R"({"pattern":"^(a|bc){2}$|^\\d{3}-\\w\\s?$"})",
       {R"("abc")", R"("123-x")", R"("123-x\t")"},
       {R"("ab")", R"("123")", "1"}},
      {R"({"pattern":"^[^a-y\\s]\\.\\x41\\u0042[\\]\\-]$"})", {R"("z.AB-")", "\"\xC3\xA9.AB]\""}, {R"("b)", R"("zx)"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("1999-12-31")"},
       {R"("2023-02-29")", R"("2023-04-31")", R"("0000-01-01")"}},
      {R"({"type":"string","format":"time"})",
       {R"("23:59:59Z")", R"("00:00:00.123+01:30")"},
       {R"("24:)", R"("23:59:59")"}},
      {R"({"type":"string","format":"date-time"})", {R"("2024-02-29T10:00:00Z")"}, {R"("2024-02-29")"}},
      {R"({"type":"string","format":"duration"})",
       {R"("P1Y2M3DT4H5M6S")", R"("PT5M")", R"("P3W")"},
       {R"("P")", R"("PT")", R"("P1H)"}},
      {R"({"type":"string","format":"email"})", {R"("a.b@c.de")"}, {R"("a@b")", R"("@)"}},
      {R"({"type":"string","format":"hostname"})", {R"("a-b.example")"}, {R"("-a)", R"("a-")"}},
      {R"({"type":"string","format":"ipv4"})", {R"("255.0.10.199")"}, {R"("256)", R"("1.2.3")", R"("01)"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::")", R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("fe80::1:2")", R"("1:2:3:4:5:6:7::")"},
       {R"("1::2::)", R"("1:2")", R"("1:2:3:4:5:6:7:8:)"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-A456-426614174000")"},
       {R"("123e4567-e89b-12d3-a456-42661417400")"}},
      {R"({"type":"integer"})", {"0", "-1", "123456789012345678"}, {"01", "1.0", "-0", "1e"}},
      {R"({"type":"number"})", {"0", "-1.5", "1e10", "2.5E-3", "-0.0"}, {"01", ".5", "1.", "+1"}},
      {R"({"type":"integer","minimum":3,"maximum":120})", {"3", "99", "120", "12"}, {"2", "0", "-", "121", "1200"}},
      {R"({"type":"integer","exclusiveMinimum":-12,"maximum":5})", {"-11", "-1", "0", "5"}, {"-12", "-13", "6", "10"}},
      {R"({"type":"integer","minimum":1.5,"exclusiveMaximum":1e2})", {"2", "99"}, {"1", "100"}},
      {R"({"type":"number","minimum":-0.5,"exclusiveMaximum":2.25})",
       {"-0.5", "0", "2.2499", "-0.49", "2", "0.0"},
       {"-0.51", "2.25", "2.3", "3", "-1", "-0.0"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.001", "5"}, {"0", "0.0", "-"}},
      {R"({"type":"number","multipleOf":0.25})", {"0.25", "-1.5", "3", "0.50"}, {"0.3", "0.255"}},
      {R"({"type":"integer","multipleOf":7,"minimum":10})", {"14", "700"}, {"7", "15"}},
      {R"({"type":"integer","multipleOf":2.5})", {"5", "0", "-10"}, {"2", "7"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "tru"}},
      {R"({"type":"null"})", {"null"}, {"true"}},
      {R"({"type":["integer","null"]})", {"1", "null"}, {"\"", "t"}},
      {R"({"enum":["a\"b",1.50,null,{"x":[1,true]}]})",
       {R"("a\"b")", "1.50", "null", R"({"x":[1,true]})"},
       {"1.5", R"({"x":[1, )"}},
      {R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
      {R"({"const":{"a":"\u0001"}})", {R"({"a":"\u0001"})"}, {R"({"b)"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})", {"12", R"("a")"}, {R"("ab)", "t"}},
      {R"({"type":"array","items":{"type":"integer"}})",
       {"[]", "[1]", "[1, 2,3]", "[\n  1,\n  2\n]"},
       {"[,", "[1,]", "[\""}},
      {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
       {"[1,2]", "[1,2,3]"},
       {"[]", "[1]", "[1,2,3,"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1"}},
      {R"({"type":"array"})", {"[]", R"([1,"a",{"b":[null]}])"}, {"{"}},
      {R"({"type":"object"})", {"{}", R"({"a": {"b": [1, {}]}, "a": 2})"}, {"[", "{\"a\",", "{,"}},
      {R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{}},"required":["b"],)"
       R"("additionalProperties":false})",
       {R"({"b":1})", R"({"a": 1, "b": 2})", R"({"b":1,"c":[]})", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": null\n}"},
       {"{}", R"({"a":1})", R"({"c)", R"({"b":1,"a)", R"({"b":1,"d)", R"({"b":1,})", "1"}},
      {R"({"type":"object","properties":{"a":{"type":"null"}}})", {"{}", R"({"a":null})"}, {R"({"b)"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})", {"{}", R"({"x":1, "":2})"}, {R"({"x":")"}},
      {R"({"type":"object","properties":{"ab":{"type":"null"},"ac":{"type":"null"}},)"
       R"("required":["ab"],"additionalProperties":{"type":"integer"}})",
       {R"({"ab":null})", R"({"ab":null,"a":1,"abc":2,"":3,"ad":4,"x\n":5})", R"({"ab":null,"ac":null,"b":1})"},
       {R"({"ab":1)", R"({"ab":null,"ac":1)", R"({"ab":null,"x":null)", R"({"ab":null,"a\u0063)", "{}"}},
      {R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},)"
       R"("next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"],)"
       R"("additionalProperties":false}},"$ref":"#/$defs/node"})",
       {R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1})", R"({"v":1,"next":1)"}},
      {R"({"type":"array","items":{"$ref":"#"},"title":"t","description":"d","default":[]})",
       {"[]", "[[],[[]]]"},
       {"[1", "{"}},
      {R"({"definitions":{"a/b~c":{"type":"null"}},"$ref":"#/definitions/a~1b~0c"})", {"null"}, {"1"}},
      {"true", {"1", R"({"a":[true]})"}, {"x"}},
      {"{}", {"1", "\"a\"", "[]"}, {"x"}},
      {R"({"type":"object","properties":{"a":false,"b":{"type":"null"}}})", {"{}", R"({"b":null})"}, {R"({"a)"}},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.schema));
    const GrammarFilter filter = OfSchema(each.schema);
    for (const char* text : each.takes) {
      CAPTURE(std::string(text));
      CHECK(Takes(filter, text));
    }
    for (const char* text : each.refuses) {
      CAPTURE(std::string(text));
      CHECK_FALSE(Takes(filter, text));
    }
  }
}

TEST_CASE("JSON Schema: what is not supported is named with its place") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"object","properties":{"a/b":{"not":{}}}})",
       "'#/properties/a~1b/not': keyword 'not' is not supported"},
      {R"({"allOf":[]})", "'#/allOf': keyword 'allOf'"},
      {R"({"oneOf":[]})", "'#/oneOf'"},
      {R"({"if":{}})", "'#/if'"},
      {R"({"type":"array","items":{"uniqueItems":true}})", "'#/items/uniqueItems'"},
      {R"({"anyOf":[{},{"patternProperties":{}}]})", "'#/anyOf/1/patternProperties'"},
      {R"({"anyOf":[{}],"minimum":1})", "'#/minimum': keyword 'minimum' beside 'anyOf'"},
      {R"({"$ref":"#","type":"object"})", "'#/type'"},
      {R"({"$ref":"#/$defs/x"})", "nothing at '#/$defs/x'"},
      {R"({"$ref":"http://x"})", "'#/$ref': expected '#'"},
      {R"({"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})", "calls itself"},
      {R"({"type":"thing"})", "'#/type': expected null, boolean"},
      {R"({"type":"string","format":"uri"})", "'#/format': format 'uri' is not supported"},
      {R"({"type":"string","format":"date","maxLength":3})", "'#/maxLength': keyword 'maxLength' beside 'format'"},
      {R"s({"type":"string","pattern":"a(?=b)"})s", "'#/pattern': regular expression 'a(?=b)': lookahead"},
      {R"({"type":"string","pattern":"(a)\\1"})", "\\1 is not supported"},
      {R"({"type":"string","pattern":"a\\b"})", "\\b is not supported"},
      {R"s({"type":"string","pattern":"(^a)"})s", "^ and $"},
      {R"({"type":"string","pattern":"(a"})", "without its )"},
      {R"s({"type":"string","pattern":"a)"})s", "without its ("},
      {R"({"type":"string","pattern":"[a"})", "without its ]"},
      {R"({"type":"string","pattern":"*"})", "repetition of nothing"},
      {R"({"type":"string","pattern":"a{2,1}"})", "{}"},
      {R"({"type":"string","minLength":-1})", "'#/minLength': expected a number"},
      {R"({"type":"string","minLength":2,"maxLength":1})", "maxLength is less"},
      {R"({"type":"array","minItems":2,"maxItems":1})", "maxItems is less"},
      {R"({"type":"number","minimum":"1"})", "'#/minimum': expected a number"},
      {R"({"type":"number","maximum":1e99})", "'#/maximum'"},
      {R"({"type":"number","multipleOf":0})", "'#/multipleOf': expected a number above 0"},
      {R"({"type":"number","multipleOf":99991})", "too large"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "allows no text"},
      {R"({"enum":[]})", "no value"},
      {R"({"type":"integer","enum":["a"]})", "no value"},
      {R"({"type":"object","required":["x"]})", "'#/required/0'"},
      {R"({"type":"object","properties":[]})", "'#/properties': expected an object"},
      {R"({"type":"object","properties":{"a":1}})", "'#/properties/a': expected a schema"},
      {R"({"anyOf":[]})", "'#/anyOf': expected a list"},
      {R"({"type":"object","type":"array"})", "twice"},
      {R"({"type":)", "not valid JSON"},
      {R"(1)", "expected a schema"},
      {R"({"type":"array","items":{"$ref":"#"},"minItems":1})", "allows no text"},
      {R"({"type":"string","maxLength":1000000})", "too large"},
  };
  for (const auto& [schema, message] : cases) {
    const std::string error = ErrorOf(ParseJsonSchema(schema));
    CAPTURE(std::string(schema));
    CAPTURE(error);
    CHECK(Has(error, message));
  }
  CHECK(Has(ErrorOf(ParseJsonSchema(std::string(200, '['))), "nests deeper"));
  CHECK(Has(ErrorOf(ParseJsonSchema(std::string(kMaxGrammarText + 1, ' '))), "bytes"));
  std::string chain = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 9000; ++i)
    chain += "\"" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"},";
  CHECK(Has(ErrorOf(ParseJsonSchema(chain + R"("9000":{}}})")), "too large"));
}

// --- A random model on random schemas ------------------------------------------------------------------------------

class RandomSchemas {
 public:
  explicit RandomSchemas(uint32_t seed) : random_(seed) {}

  nlohmann::ordered_json Make() {
    nlohmann::ordered_json schema = Schema(0);
    if (schema.contains("$ref")) schema = Object(0);
    schema["$defs"]["leaf"] = Leaf();
    schema["$defs"]["tree"] = {{"type", "object"},
                               {"properties",
                                {{"value", {{"$ref", "#/$defs/leaf"}}},
                                 {"next", {{"anyOf", {{{"$ref", "#/$defs/tree"}}, {{"type", "null"}}}}}},
                                 {"all", {{"type", "array"}, {"items", {{"$ref", "#/$defs/tree"}}}, {"maxItems", 2}}}}},
                               {"required", {"next"}},
                               {"additionalProperties", false}};
    return schema;
  }

 private:
  using Json = nlohmann::ordered_json;

  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  bool Coin() { return Below(2) == 0; }

  Json Schema(int depth) {
    switch (Below(depth > 3 ? 5 : 11)) {
      case 5:
        return {{"anyOf", Json::array({Schema(depth + 1), Schema(depth + 1)})}};
      case 6:
      case 7:
        return Array(depth);
      case 8:
        return {{"$ref", Coin() ? "#/$defs/leaf" : "#/$defs/tree"}};
      case 9:
      case 10:
        return Object(depth);
      default:
        return Leaf();
    }
  }

  Json Leaf() {
    static const char* const kTypes[] = {"string", "integer", "number", "boolean", "null"};
    switch (Below(8)) {
      case 0:
        return {{"enum", Json::array({"a", 1, 2.5, nullptr, true, "q\"\\\n", Json::array({1, "x"})})}};
      case 1:
        return {{"const", Coin() ? Json("only\t") : Json(-7)}};
      case 2:
        return {{"type", Json::array({"null", kTypes[Below(4)]})}};
      case 3:
        return Number();
      case 4:
        return String();
      case 5:
        return Coin() ? Json::object() : Json{{"type", "object"}};
      default:
        return {{"type", kTypes[Below(5)]}};
    }
  }

  Json Number() {
    Json schema = {{"type", Coin() ? "integer" : "number"}};
    const double low = Below(2000) - 1000, high = low + 1 + Below(500);
    const double shift = schema["type"] == "number" && Coin() ? 0.125 : 0;
    if (Coin()) schema[Coin() ? "minimum" : "exclusiveMinimum"] = low + shift;
    if (Coin()) schema[Coin() ? "maximum" : "exclusiveMaximum"] = high + 8 + shift;
    static const double kMultiples[] = {1, 2, 3, 7, 0.5, 0.25, 2.5};
    if (Below(3) == 0) schema["multipleOf"] = kMultiples[Below(7)];
    return schema;
  }

  Json String() {
    static const char* const kPatterns[] = {"^[a-z]{2,5}$", "x+y?",         "^(foo|bar)-\\d{1,3}$",
                                            "[^\"a-f]$",    "^\\w+\\.\\w+", "a|^b$",
                                            "^$",           "\\\\[nt]",     "^[\\u00e0-\\u00ff]{1,3}$"};
    static const char* const kFormats[] = {"date",     "time", "date-time", "duration", "email",
                                           "hostname", "ipv4", "ipv6",      "uuid"};
    Json schema = {{"type", "string"}};
    switch (Below(3)) {
      case 0:
        schema["pattern"] = kPatterns[Below(9)];
        break;
      case 1:
        schema["format"] = kFormats[Below(9)];
        break;
      default:
        if (Coin()) schema["minLength"] = Below(4);
        if (Coin()) schema["maxLength"] = 4 + Below(6);
    }
    return schema;
  }

  Json Array(int depth) {
    Json schema = {{"type", "array"}};
    if (Below(4) != 0) schema["items"] = Schema(depth + 1);
    if (Coin()) schema["minItems"] = Below(3);
    if (Coin()) schema["maxItems"] = 2 + Below(3);
    return schema;
  }

  Json Object(int depth) {
    static const char* const kNames[] = {"name", "age", "a", "ab", "\xC3\xA9", "with \"quotes\"", "", "x\ny"};
    Json schema = {{"type", "object"}};
    Json properties = Json::object(), required = Json::array();
    for (const char* const name : kNames) {
      if (!Coin()) continue;
      properties[name] = Schema(depth + 1);
      if (Coin()) required.push_back(name);
    }
    schema["properties"] = std::move(properties);
    if (!required.empty() || Coin()) schema["required"] = std::move(required);
    if (Below(4) != 0)
      schema["additionalProperties"] = Below(3) == 0 ? Coin() ? Json(true) : Schema(depth + 1) : Json(false);
    return schema;
  }

  std::mt19937 random_;
};

// A model that knows nothing, and after `patience` tokens wants to come to an end.
class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : random_(seed) {}

  int32_t Choose(std::span<const uint64_t> allowed, bool hurries) {
    if (hurries && random_() % 4 == 0) {
      static const char* const kUseful[] = {"x", "a", "b", "n", ".", "-", "f", "@", "\\\\"};  // what patterns wait for
      const auto piece = std::find(Pieces().begin(), Pieces().end(), kUseful[random_() % std::size(kUseful)]);
      const auto id = static_cast<int32_t>(piece - Pieces().begin());
      if (IsAllowed(allowed, id)) return id;
    }
    if (hurries || random_() % 3 == 0) {
      constexpr std::string_view kEnds = "\"}]:0123456789n,";
      if (IsAllowed(allowed, End())) return End();
      for (const char c : kEnds) {
        if (IsAllowed(allowed, c) && (hurries || random_() % 2 == 0)) return c;
      }
    }
    std::vector<int32_t> ids;
    for (int32_t id = 0; id <= End(); ++id) {
      if (IsAllowed(allowed, id)) ids.push_back(id);
    }
    REQUIRE_FALSE(ids.empty());
    return ids[random_() % ids.size()];
  }

  std::string Write(GrammarFilter filter) {
    constexpr size_t kPatience = 150;
    std::string text;
    for (size_t tokens = 0; !filter.has_ended(); ++tokens) {
      REQUIRE_MESSAGE(tokens < 20'000, text.substr(0, 2000));
      const int32_t id = Choose(Allowed(filter), tokens > kPatience);
      REQUIRE(filter.Accept(id));
      if (id != End()) text += Pieces()[static_cast<size_t>(id)];
    }
    CHECK(filter.IsComplete());
    for (const uint64_t word : Allowed(filter)) CHECK(word == 0);
    return text;
  }

 private:
  std::mt19937 random_;
};

// validate_samples.py runs this with more schemas, and asks another program about each text.
TEST_CASE("Random schemas: whatever a random model writes is JSON") {
  const char* const count = std::getenv("SKALD_SCHEMAS");
  const char* const path = std::getenv("SKALD_SAMPLES");
  const uint32_t schemas = count == nullptr ? 200 : static_cast<uint32_t>(std::atoi(count));
  std::ofstream samples;
  if (path != nullptr) samples.open(path);
  for (uint32_t seed = 0; seed < schemas; ++seed) {
    const std::string schema = RandomSchemas(seed).Make().dump();
    CAPTURE(seed);
    CAPTURE(schema);
    const GrammarFilter filter = OfSchema(schema);
    for (uint32_t i = 0; i < 3; ++i) {
      const std::string text = RandomModel(seed * 3 + i).Write(filter);
      CAPTURE(std::string(text));
      CHECK(nlohmann::json::accept(text));
      if (path != nullptr) samples << nlohmann::json{{"schema", schema}, {"text", text}}.dump() << '\n';
    }
  }
  if (path != nullptr) CHECK(samples.flush());
}

TEST_CASE("A mask has just the tokens that would be accepted") {
  for (uint32_t seed = 1000; seed < 1030; ++seed) {
    GrammarFilter filter = OfSchema(RandomSchemas(seed).Make().dump());
    RandomModel model(seed);
    for (int token = 0; token < 25 && !filter.has_ended(); ++token) {
      CheckMask(filter);
      REQUIRE(filter.Accept(model.Choose(Allowed(filter), false)));
    }
  }
  // Close to the limit of nesting, where what is allowed depends on all that is open.
  GrammarFilter nested = OfGbnf("root ::= \"[\" root \"]\" | \"(\" pair \")\" | \"x\"\npair ::= root \",\" root");
  for (size_t depth = 0; depth < kMaxGrammarDepth - 1; ++depth) {
    if (depth > kMaxGrammarDepth - 6) CheckMask(nested);
    REQUIRE(nested.Accept('['));
  }
  CheckMask(nested);
  CHECK_FALSE(nested.Accept('['));
  // Several readings side by side.
  GrammarFilter ambiguous = OfGbnf("root ::= (a | b)*\na ::= \"ab\" \"c\"* | \"a\" a \"b\"\nb ::= [a-c]+ \"!\" | a");
  RandomModel model(7);
  for (int token = 0; token < 30 && !ambiguous.has_ended(); ++token) {
    CheckMask(ambiguous);
    REQUIRE(ambiguous.Accept(model.Choose(Allowed(ambiguous), false)));
  }
}

TEST_CASE("Clones go their own ways, as speculation rewinds") {
  const GrammarFilter start = OfSchema(RandomSchemas(5).Make().dump());
  const std::string text = RandomModel(5).Write(start);
  std::mt19937 random(3);
  std::vector<std::unique_ptr<TokenFilter>> at;  // the filter behind so many bytes
  at.push_back(start.Clone().value());
  RandomModel other(11);
  for (const char c : text) {
    // Drafts that are thrown away.
    std::unique_ptr<TokenFilter> draft = at.back()->Clone().value();
    for (size_t i = random() % 5; i > 0 && !std::ranges::all_of(Allowed(*draft), [](uint64_t w) { return w == 0; });
         --i) {
      REQUIRE(draft->Accept(other.Choose(Allowed(*draft), false)));
    }
    at.push_back(at.back()->Clone().value());
    REQUIRE(at.back()->Accept(static_cast<unsigned char>(c)));
  }
  CHECK(at.back()->IsComplete());
  GrammarFilter fresh = start;
  for (size_t i = 0; i <= text.size(); ++i) {
    CHECK(std::ranges::equal(Allowed(*at[i]), Allowed(fresh)));
    CHECK(at[i]->IsComplete() == fresh.IsComplete());
    if (i < text.size()) REQUIRE(fresh.Accept(static_cast<unsigned char>(text[i])));
  }
}

TEST_CASE("Filters of one grammar work in many threads") {
  const GrammarFilter start = Compiled(AnyJsonObject());
  std::vector<std::string> alone, together(8);
  for (uint32_t i = 0; i < 8; ++i) alone.push_back(RandomModel(i).Write(Compiled(AnyJsonObject())));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { together[i] = RandomModel(i).Write(start); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(together == alone);
}

TEST_CASE("Tokens that are refused change nothing") {
  GrammarFilter filter = OfGbnf("root ::= \"ab\"");
  const auto error = [&](int32_t id) {
    const Result<void> accepted = filter.Accept(id);
    REQUIRE_FALSE(accepted);
    return accepted.error().message;
  };
  CHECK(Has(error(-1), "token id -1 is outside of the filter's"));
  CHECK(Has(error(End() + 1), "outside"));
  CHECK(Has(error('x'), "no text of the grammar goes on with 'x'"));
  CHECK(Has(error(End()), "may not end here"));
  REQUIRE(filter.Accept('a'));
  CHECK(Has(error('a'), "not allowed"));
  REQUIRE(filter.Accept('b'));
  CHECK(filter.IsComplete());
  REQUIRE(filter.Accept(End()));
  CHECK(filter.IsComplete());
  CHECK(Has(error(End()), "has ended"));
}

TEST_CASE("Too many ways to read a text are an error, not a wrong answer") {
  // Each letter may be of either rule, and each way waits for other letters.
  GrammarFilter filter = OfGbnf(R"(root ::= x
x ::= "a" x "b" | "a" y "c" | "x"
y ::= "a" x "d" | "a" y "e" | "y")");
  Result<void> accepted = {};
  for (int i = 0; i < 200 && accepted; ++i) accepted = filter.Accept('a');
  REQUIRE_FALSE(accepted);
  CHECK(accepted.error().code == ErrorCode::kResourceExhausted);
  CHECK(Has(accepted.error().message, "more ways"));
}

TEST_CASE("Words say of every id whether it is allowed") {
  const std::vector<uint64_t> allowed = {0b101, ~uint64_t{0}};
  for (int32_t id = 0; id < 140; ++id) {
    CHECK(IsAllowed(allowed, id) == (id == 0 || id == 2 || (id >= 64 && id < 128)));
  }
  CHECK_FALSE(IsAllowed(allowed, -1));
  CHECK_FALSE(IsAllowed(allowed, 128));
  CHECK(IsAllowed(allowed, 64));
}

// Does not follow a grammar: no token twice.
class EachOnce final : public TokenFilter {
 public:
  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<EachOnce>(*this); }
  Result<std::span<const uint64_t>> Allowed() override { return std::span<const uint64_t>(&left_, 1); }
  Result<void> Accept(int32_t id) override {
    if (!IsAllowed({&left_, 1}, id)) return Fail(ErrorCode::kInvalidArgument, "it came before");
    left_ &= ~(uint64_t{1} << id);
    return {};
  }
  bool IsComplete() const override { return left_ == 0; }

 private:
  uint64_t left_ = 0b111;
};

TEST_CASE("A program may bring a filter of its own") {
  std::unique_ptr<TokenFilter> filter = std::make_unique<EachOnce>();
  REQUIRE(filter->Accept(1));
  const std::unique_ptr<TokenFilter> clone = filter->Clone().value();
  CHECK_FALSE(filter->Accept(1));
  REQUIRE(filter->Accept(0));
  CHECK(Allowed(*filter)[0] == 0b100);
  CHECK(Allowed(*clone)[0] == 0b101);
}

TEST_CASE("What each piece writes, joined, is what decoding writes") {
  std::vector<Tokenizer> tokenizers;
  for (const char* const name : kTestTokenizers) tokenizers.push_back(TestTokenizer(name));
  tokenizers.push_back(LoadTokenizer(RepositoryPath("tests/text/data/byte_level")));
  for (const Tokenizer& tokenizer : tokenizers) {
    const Vocabulary vocabulary = TokenVocabulary::Make(tokenizer).value();
    CHECK(vocabulary->size() == tokenizer.vocab_size());
    REQUIRE(tokenizer.eos_id());
    CHECK(vocabulary->IsEnd(*tokenizer.eos_id()));
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      // Behind a word, so that no leading space is dropped.
      std::vector<int32_t> ids = MustEncode(tokenizer, "word");
      std::string text = MustDecode(tokenizer, ids), bytes = text;
      for (int i = 0; i < 20; ++i) {
        const auto id = static_cast<int32_t>(random() % tokenizer.vocab_size());
        const std::string_view written = vocabulary->BytesOf(id);
        if (written.empty() || internal::ValidUtf8Prefix(written) != written.size()) continue;
        ids.push_back(id);
        bytes += written;
      }
      CHECK(MustDecode(tokenizer, ids) == bytes);
    }
    for (const char* const special : {"<s>", "</s>", "<unk>", "<start_of_turn>"}) {
      if (const std::optional<int32_t> id = tokenizer.SpecialId(special)) CHECK(vocabulary->BytesOf(*id).empty());
    }
  }
}

TEST_CASE("A real vocabulary writes JSON that decodes to the filter's text") {
  const Tokenizer tokenizer = LoadTokenizer(RepositoryPath("tests/text/data/byte_level"));
  GrammarFilter filter = Compiled(
      ParseJsonSchema(R"({"type":"object","properties":{"the":{"type":"string","maxLength":30},)"
                      R"("n":{"type":"integer","maximum":99}},"required":["the","n"],"additionalProperties":false})"),
      TokenVocabulary::Make(tokenizer).value());
  std::mt19937 random(2);
  std::vector<int32_t> ids;
  while (!filter.has_ended()) {
    const std::span<const uint64_t> allowed = Allowed(filter);
    const auto id = static_cast<int32_t>(random() % tokenizer.vocab_size());
    if (!IsAllowed(allowed, id)) continue;
    REQUIRE(filter.Accept(id));
    ids.push_back(id);
  }
  const std::string text = MustDecode(tokenizer, ids);
  CAPTURE(text);
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(value.is_object());
  CHECK(value["the"].is_string());
  CHECK(value["n"] <= 99);
}

TEST_CASE("Vocabularies: a tree of their tokens, and errors") {
  CHECK(Has(TokenVocabulary::From({"a"}, std::array{1}).error().message,
            "end token 1 is outside of the vocabulary of 1"));
  const Vocabulary vocabulary = TokenVocabulary::From({"ab", "", "a", "ab", "b", "end"}, std::array{5}).value();
  const uint32_t root = vocabulary->root(TokenVocabulary::Kind::kWord);
  REQUIRE(root == 0);  // all are words
  REQUIRE(vocabulary->nodes() == 6);
  CHECK(vocabulary->node(root).end == 4);
  CHECK(std::ranges::equal(vocabulary->TokensOf(root + 1), std::array{2}));
  CHECK(std::ranges::equal(vocabulary->TokensOf(root + 2), std::array{0, 3}));
  CHECK(vocabulary->node(root + 1).end == root + 3);
  CHECK(vocabulary->node(root + 3).byte == 'b');
  CHECK(std::ranges::equal(vocabulary->TokensBehind(root + 1), std::array{0, 3}));
  CHECK(vocabulary->UpTo(TokenVocabulary::Kind::kWord, 1)[0] == 0b010100);
  CHECK(vocabulary->UpTo(TokenVocabulary::Kind::kWord, 2)[0] == 0b011101);
  CHECK(vocabulary->longest() == 2);
  GrammarFilter filter = Compiled(ParseGbnf("root ::= \"ab\"*"), vocabulary);
  CHECK(Allowed(filter)[0] == 0b101101);
  REQUIRE(filter.Accept(2));
  CHECK(Allowed(filter)[0] == 0b010000);
  // A vocabulary that cannot go on: no bit.
  GrammarFilter stuck = Compiled(ParseGbnf("root ::= \"ac\""), vocabulary);
  REQUIRE(stuck.Accept(2));
  CHECK(Allowed(stuck)[0] == 0);
}

}  // namespace token_filters_test
}  // namespace skald
