// SPDX-License-Identifier: Apache-2.0
//
// Repetitions of many times: counted, so that they cost no states, and with the same masks as copies would give.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/shortest_text.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "tests/text/filters/random_schemas.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace counted_loops_test {

using namespace filter_tests;  // NOLINT: of this file only

// In pieces as tokens are: there is a limit for what reading one may take.
Result<void> TryToWrite(GrammarFilter& filter, std::string_view text) {
  constexpr size_t kPiece = 50;
  for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
    if (auto written = filter.AcceptText(text.substr(0, kPiece)); !written) return written;
  }
  return {};
}
void Write(GrammarFilter& filter, std::string_view text) {
  const Result<void> written = TryToWrite(filter, text);
  REQUIRE_MESSAGE(written.has_value(), (written ? "" : written.error().message));
}

std::string Times(size_t times, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("long strings have their lengths, and masks at both ends") {
  const GrammarFilter start = OfSchema(R"({"type":"string","minLength":3000,"maxLength":5000})");
  struct Case {
    size_t characters;
    bool may_end, may_go_on;
  };
  for (const Case& each : {Case{0, false, true},
                           {2980, false, true},
                           {2995, false, true},
                           {2999, false, true},
                           {3000, true, true},
                           {4000, true, true},
                           {4976, true, true},
                           {4998, true, true},
                           {4999, true, true},
                           {5000, true, false}}) {
    CAPTURE(each.characters);
    GrammarFilter filter = start;
    Write(filter, "\"" + Times(each.characters, "a"));
    CheckMask(filter);
    CHECK(IsAllowed(Allowed(filter), '"') == each.may_end);
    CHECK(IsAllowed(Allowed(filter), 'a') == each.may_go_on);
  }
  // A character is a character however it is written.
  GrammarFilter filter = start;
  Write(filter, "\"" + Times(1000, "\xE4\xBD\xA0") + Times(1000, "\\n") + Times(999, "\\ud83d\\ude00"));
  CHECK_FALSE(IsAllowed(Allowed(filter), '"'));
  Write(filter, "\\u00e9");
  CHECK(IsAllowed(Allowed(filter), '"'));
}

TEST_CASE("an agent's default of maxLength costs no states, and its masks are one") {
  const char* const schema = R"({"type":"object","properties":{"old":{"type":"string","maxLength":524288},
      "new":{"type":"string","maxLength":524288}},"required":["old","new"]})";
  const auto automaton = internal::GrammarAutomaton::Make(*ParseJsonSchema(schema));
  REQUIRE_MESSAGE(automaton.has_value(), (automaton ? "" : automaton.error().message));
  CHECK(automaton->size() < 400);
  GrammarFilter filter = OfSchema(schema);
  Write(filter, "{\"old\": \"");
  const uint64_t* const first = (Write(filter, "ab"), Allowed(filter).data());
  Write(filter, Times(100'000, "x"));
  CHECK(Allowed(filter).data() == first);
  CheckMask(filter);
  Write(filter, "\", \"new\":\"y\"}");
  CHECK(filter.IsComplete());
}

TEST_CASE("lists of many items, lists in lists, and no end") {
  const GrammarFilter start = OfSchema(
      R"({"type":"array","minItems":600,"maxItems":900,
          "items":{"type":"array","minItems":500,"items":{"type":"boolean"}}})");
  const std::string inner = "[" + Times(499, "true,") + "true";
  GrammarFilter filter = start;
  Write(filter, "[" + inner);
  CheckMask(filter);
  CHECK(IsAllowed(Allowed(filter), ']'));
  GrammarFilter longer = filter;
  Write(longer, Times(2000, ", false"));
  CHECK(std::ranges::equal(Allowed(longer), Allowed(filter)));
  Write(filter, "]" + Times(598, "," + inner + "]"));
  CHECK_FALSE(IsAllowed(Allowed(filter), ']'));
  Write(filter, "," + inner + "]");
  CHECK(IsAllowed(Allowed(filter), ']'));
  Write(filter, Times(299, "," + inner + "]"));
  CheckMask(filter);
  Write(filter, "," + inner + "]");
  CHECK_FALSE(IsAllowed(Allowed(filter), ','));
  GrammarFilter early = start;
  CHECK_FALSE(TryToWrite(early, "[" + Times(400, "true,")));
}

// The same language, once with a count and once with copies.
TEST_CASE("counts and copies give the same masks") {
  struct Case {
    const char *counted, *copied;
  };
  const Case cases[] = {
      {R"(root ::= "<" ([a-c] "x"? "!"){3,900} ">")",
       R"(root ::= "<" p p p p{0,97} p{0,100} p{0,100} p{0,100} p{0,100} p{0,100} p{0,100} p{0,100} p{0,100} ">"
p ::= [a-c] "x"? "!")"},
      {R"(root ::= ("ab" | "[" [0-9]* "]"){700} "e"?)", R"(root ::= h h h h h h h "e"?
h ::= t t t t t t t t t t
t ::= p p p p p p p p p p
p ::= "ab" | "[" [0-9]* "]")"}};
  for (const Case& each : cases) {
    const GrammarFilter counted = OfGbnf(each.counted), copied = OfGbnf(each.copied);
    for (uint32_t seed = 0; seed < 6; ++seed) {
      GrammarFilter a = counted, b = copied;
      RandomModel model(seed);
      for (int token = 0; token < 300 && !a.has_ended(); ++token) {
        REQUIRE(std::ranges::equal(Allowed(a), Allowed(b)));
        const int32_t id = model.Choose(Allowed(a), false);
        REQUIRE(a.Accept(id));
        REQUIRE(b.Accept(id));
        CHECK(a.IsComplete() == b.IsComplete());
      }
    }
  }
}

TEST_CASE("what may be empty, or is a beginning of itself, has copies or is too large") {
  for (const char* const part : {"\"a\"?", "(\"a\" | \"ab\")", "[a-z]+"}) {
    const std::string few = "root ::= \"<\" (" + std::string(part) + "){0,300} \">\"";
    CHECK(Takes(OfGbnf(few), "<aaaa>"));
    CHECK(Has(ErrorOf(ParseGbnf("root ::= (" + std::string(part) + "){0,900000}")), "too large"));
  }
  CHECK(Has(ErrorOf(ParseGbnf("root ::= [a-z]{600000000} [a-y]{500000000}")), "too large"));
  CHECK(Takes(OfGbnf("root ::= \"<\" [a-z]{0,4000000000000} \">\""), "<abc>"));
  CHECK(Has(ErrorOf(ParseGbnf("root ::= (\"a\" root){1000}")), "no text"));
  CHECK(Has(ErrorOf(ParseGbnf("root ::= (root \"a\" ){0,9000} \"b\"")), "left recursion"));
}

TEST_CASE("the shortest text of a grammar") {
  const auto shortest = [](std::string_view gbnf) { return ShortestText(*ParseGbnf(gbnf)); };
  CHECK(shortest("root ::= \"abc\" [x-z\xC3\xA9]+ (\"\" | \"a\") [\xC3\xA9]") == 6);
  CHECK(shortest("root ::= \"(\" root \")\" | [0-9]{3,}") == 3);
  CHECK(shortest("root ::= a b{2}\na ::= \"x\" b | b \"yy\"\nb ::= a a | \"zzz\"") == 10);
  CHECK(shortest("root ::= \"a\" root") == kNoText);
  CHECK(ShortestText(*ParseJsonSchema(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})")) ==
        std::string("{\"a\":0}").size());
  // Each rule waits for the next one: a walk over all of them for each would take minutes.
  constexpr size_t kRules = 8000;
  std::string chain = "root ::= r0\n";
  for (size_t i = 0; i < kRules; ++i) {
    chain += "r" + std::to_string(i) + " ::= [a-z] [0-9] [a-z] [0-9] ";
    chain += i + 1 < kRules ? "r" + std::to_string(i + 1) + "\n" : "\"x\"\n";
  }
  CHECK(shortest(chain) == 4 * kRules + 1);
}

TEST_CASE("a grammar is beyond its limits always or never, whatever was asked before") {
  // Each rule needs letters of its own set before it can end, so that readings with all counts go on side by side.
  const std::string text =
      "root ::= (a | b | c | d | e)*\n"
      "a ::= ([b-z]* [a-m]){40} a?\nb ::= ([a-y]* [c-p]){40} b?\nc ::= ([c-z]* [b-t]){40} c?\n"
      "d ::= ([a-w]* [e-z]){40} d?\ne ::= ([d-z]* [a-k]){40} e?\n";
  std::vector<std::string> ends;
  for (int round = 0; round < 3; ++round) {
    GrammarFilter filter = OfGbnf(text);
    if (round == 1) {  // what another text asked for is known
      GrammarFilter other = filter;
      for (int i = 0; i < 30 && other.Allowed() && other.Accept('e'); ++i) {
      }
    }
    std::string end;
    for (int i = 0; i < 400 && end.empty(); ++i) {
      const auto allowed = filter.Allowed();
      if (!allowed) end = std::to_string(i) + allowed.error().message;
      if (!allowed) CHECK(allowed.error().code == ErrorCode::kUnsupported);
      const auto accepted = filter.Accept("gfhi"[i % 4]);
      if (!accepted && end.empty()) end = std::to_string(i) + accepted.error().message;
    }
    ends.push_back(end);
  }
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
}

}  // namespace counted_loops_test
}  // namespace skald
