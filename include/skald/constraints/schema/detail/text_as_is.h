// SPDX-License-Identifier: Apache-2.0
//
// Texts between single quotes in which nothing is escaped, as a grammar: a quote within must not be followed by what
// goes on with a call after an argument. The parser looks for the same (open/tools/calls/detail/quoted_text.h).

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_TEXT_AS_IS_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_TEXT_AS_IS_H_

#include <cstddef>
#include <utility>

#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/schema/value_notation.h"

namespace skald::internal {

// Adds any text that such a pair of quotes can have between them. Throws std::bad_alloc.
inline Grammar::Expression AddTextAsIs(Grammar& grammar) {
  // A node is what has come: nothing that counts; ends the text; a quote; a quote and a comma, and a space; a quote and
  // a parenthesis, and a bracket.
  enum Node : size_t { kText, kEnd, kQuote, kComma, kSpace, kParenthesis, kBracket, kNodes };
  const CharacterRanges quote = {{'\'', '\''}}, name = {{'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  const auto set = [&](CharacterRanges ranges) { return grammar.Add(Grammar::Characters{std::move(ranges)}); };
  const auto one = [&](char32_t c) { return set({{c, c}}); };
  const auto other = [&](CharacterRanges ranges) { return set(Without(Complement(ranges), quote)); };
  Grammar::Graph graph;
  graph.nodes = kNodes;
  for (const size_t node : {kText, kQuote, kComma, kSpace, kParenthesis, kBracket}) {
    graph.edges.push_back({node, kEnd, Grammar::kEmpty});
    graph.edges.push_back({node, kQuote, set(quote)});
  }
  CharacterRanges space_or_name = {{' ', ' '}};
  space_or_name.insert(space_or_name.end(), name.begin(), name.end());
  graph.edges.push_back({kText, kText, other({})});
  graph.edges.push_back({kQuote, kText, other({{')', ')'}, {',', ','}})});
  graph.edges.push_back({kQuote, kComma, one(',')});
  graph.edges.push_back({kQuote, kParenthesis, one(')')});
  graph.edges.push_back({kComma, kText, other(space_or_name)});
  graph.edges.push_back({kComma, kSpace, one(' ')});
  graph.edges.push_back({kSpace, kText, other(name)});
  graph.edges.push_back({kParenthesis, kText, other({{',', ','}, {']', ']'}})});
  graph.edges.push_back({kParenthesis, kComma, one(',')});
  graph.edges.push_back({kParenthesis, kBracket, one(']')});
  graph.edges.push_back({kBracket, kText, other({{'<', '<'}})});
  return grammar.Add(std::move(graph));
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_TEXT_AS_IS_H_
