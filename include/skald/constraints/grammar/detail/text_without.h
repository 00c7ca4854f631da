// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/text_without.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_TEXT_WITHOUT_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_TEXT_WITHOUT_H_

#include "skald/constraints/grammar/text_without.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/characters.h"

namespace skald {

// From each beginning of the mark, whatever does not go on with it.
SKALD_INLINE Grammar::Expression AddTextWithout(std::string_view mark, Grammar& grammar) {
  const auto set = [&](const CharacterRanges& ranges) { return grammar.Add(Grammar::Characters{ranges}); };
  std::vector<char32_t> letters;
  while (!mark.empty()) {
    const std::string_view letter = mark.substr(0, FirstUtf8Character(mark).length);
    letters.push_back(internal::CharacterIn(letter));
    mark.remove_prefix(letter.size());
  }
  const char32_t first = letters.front();
  const auto node = [](size_t matched) { return matched == 0 ? 0 : matched + 1; };
  Grammar::Graph graph;
  graph.nodes = letters.size() + 1;
  for (size_t matched = 0; matched < letters.size(); ++matched) {
    const char32_t next = letters[matched];
    graph.edges.push_back({node(matched), 1, Grammar::kEmpty});
    graph.edges.push_back({node(matched), node(1), set({{first, first}})});
    graph.edges.push_back({node(matched), node(0), set(Complement({{first, first}, {next, next}}))});
    const bool goes_on = matched > 0 && matched + 1 < letters.size();
    if (goes_on) graph.edges.push_back({node(matched), node(matched + 1), set({{next, next}})});
  }
  return grammar.Add(std::move(graph));
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_TEXT_WITHOUT_H_
