// SPDX-License-Identifier: Apache-2.0
//
// An explorer's memory saves time and changes nothing else: the work that it counts is that of one without memory.

#include "skald/constraints/grammar/explorer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar/automaton.h"

namespace skald::internal {
namespace explorer_test {

constexpr size_t kEndless = std::numeric_limits<size_t>::max();

GrammarAutomaton OfText(std::string_view text) {
  auto grammar = ParseGbnf(text);
  REQUIRE(grammar);
  auto automaton = GrammarAutomaton::Make(*grammar);
  REQUIRE(automaton);
  return *std::move(automaton);
}

// The result for a text, in a separate round.
struct Outcome {
  Readings readings = {};
  size_t work = 0;
  bool is_too_much = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Read(Explorer& explorer, std::string_view text, size_t most = kEndless) {
  explorer.Begin(most);
  uint32_t number = explorer.Start();
  for (const char byte : text) number = explorer.Next(number, static_cast<uint8_t>(byte));
  if (explorer.has_overflowed()) return {.is_too_much = true};
  return {explorer.at(number), explorer.work()};
}

TEST_CASE("an explorer counts what is read as if it knew nothing") {
  const GrammarAutomaton automaton = OfText(R"gbnf(root ::= item ("," item)*
item ::= [a-z]+ | "(" root ")" | [a-m] [0-9]* item?)gbnf");
  Explorer kept(automaton);
  size_t most_work = 0;
  for (int round = 0; round < 3; ++round) {
    for (const std::string text : {"", "a", "abc,d", "((a1b,c),zz)", "aaaaaaaa", "(((", "a1,", "!", "abc"}) {
      CAPTURE(text);
      Explorer fresh(automaton);
      const Outcome expected = Read(fresh, text);
      CHECK(Read(kept, text) == expected);
      CHECK(Read(kept, text, expected.work) == expected);
      CHECK(Read(kept, text, expected.work / 2).is_too_much);
      most_work = std::max(most_work, expected.work);
    }
  }
  CHECK(most_work > 100);
}

}  // namespace explorer_test
}  // namespace skald::internal
