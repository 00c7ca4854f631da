// SPDX-License-Identifier: Apache-2.0
//
// Which compiled filters are kept, and for how long.

#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/filter_cache.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald::testing {
namespace filter_cache_test {

// Compiles grammars of one word, and counts how often.
struct Compiler {
  std::shared_ptr<const TokenVocabulary> vocabulary =
      *TokenVocabulary::From(std::vector<std::string>{"a", "b", ""}, std::vector<int32_t>{2});
  int compiled = 0;

  auto Make(const std::string& grammar) {
    return [this, grammar]() -> Result<GrammarFilter> {
      ++compiled;
      const auto parsed = ParseGbnf(grammar);
      if (!parsed) return Failure(parsed.error());
      return GrammarFilter::Compile(*parsed, vocabulary);
    };
  }
};

TEST_CASE("filters of the same text are one, as long as it is among the last used") {
  Compiler compiler;
  FilterCache cache;
  const auto make = compiler.Make("root ::= \"ab\"");
  const auto first = cache.Get("ab", make);
  REQUIRE(first);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(cache.Get("other " + std::to_string(i), make));
    CHECK(*cache.Get("ab", make) == *first);
  }
  CHECK(compiler.compiled == 101);
  for (int i = 0; i < 100; ++i) REQUIRE(cache.Get("another " + std::to_string(i), make));
  CHECK(*cache.Get("ab", make) != *first);
}

TEST_CASE("what is kept takes no more bytes than it may, but for the one used last") {
  Compiler compiler;
  FilterCache roomy, tight(1);
  const auto make = compiler.Make("root ::= \"ab\"");
  for (FilterCache* const cache : {&roomy, &tight}) {
    const auto first = cache->Get("first", make);
    REQUIRE(first);
    CHECK((*first)->shared_bytes() > 0);
    CHECK(*cache->Get("first", make) == *first);
    REQUIRE(cache->Get("second", make));
    CHECK((*cache->Get("first", make) == *first) == (cache == &roomy));
  }
  // They grow after they were kept.
  const auto once = compiler.Make("root ::= [ab]+ \"aaaa\"");
  const size_t beginning = (*FilterCache().Get("a", once))->shared_bytes();
  FilterCache cache(2 * beginning + 10);
  const auto first = cache.Get("a", once), second = cache.Get("b", once);
  REQUIRE(second);
  CHECK(*cache.Get("a", once) == *first);
  CHECK(*cache.Get("b", once) == *second);
  GrammarFilter text = **second;
  for (int i = 0; i < 8; ++i) {
    REQUIRE(text.Allowed());
    REQUIRE(text.Accept(0));
  }
  CHECK((*second)->shared_bytes() > beginning + 10);
  CHECK(*cache.Get("b", once) == *second);
  CHECK(*cache.Get("a", once) != *first);
}

TEST_CASE("errors and very long texts are not kept") {
  Compiler compiler;
  FilterCache cache;
  for (int i = 1; i < 3; ++i) {
    CHECK_FALSE(cache.Get("wrong", compiler.Make("root ::= (")));
    CHECK(compiler.compiled == i);
  }
  const std::string text(1 << 20, 'x');
  for (int i = 3; i < 5; ++i) {
    CHECK(cache.Get(text, compiler.Make("root ::= \"a\"")));
    CHECK(compiler.compiled == i);
  }
}

}  // namespace filter_cache_test
}  // namespace skald::testing
