// SPDX-License-Identifier: Apache-2.0
//
// Properties of filters of every grammar: masks, clones, threads, refusals.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "tests/text/filters/random_schemas.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace grammar_filter_test {

using namespace filter_tests;  // NOLINT: of this file only

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
  std::vector<std::unique_ptr<TokenFilter>> at;  // the filter after so many bytes
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
  CHECK(accepted.error().code == ErrorCode::kUnsupported);
  CHECK(Has(accepted.error().message, "more ways"));
}

}  // namespace grammar_filter_test
}  // namespace skald
