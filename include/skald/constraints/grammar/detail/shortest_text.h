// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/shortest_text.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_SHORTEST_TEXT_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_SHORTEST_TEXT_H_

#include "skald/constraints/grammar/shortest_text.h"

#include <variant>

#include "skald/base/inline.h"
#include "skald/constraints/grammar/characters.h"

namespace skald {

namespace internal {

SKALD_INLINE ShortestTexts::ShortestTexts(const Grammar& grammar) {
  const size_t rules = grammar.rules().size();
  first_rule_ = grammar.expressions();
  Grow(first_rule_ + rules);
  for (size_t rule = 0; rule < rules; ++rule) AddWay(first_rule_ + rule, {grammar.rules()[rule].text});
  for (Grammar::Expression i = 0; i < first_rule_; ++i) {
    std::visit([&](const auto& form) { Add(form, i); }, grammar.form(i));
  }
  Find();
}

SKALD_INLINE void ShortestTexts::Grow(size_t size) {
  shortest_.resize(size, kNoText);
  uses_.resize(size);
}

SKALD_INLINE void ShortestTexts::AddWay(size_t result, std::initializer_list<size_t> parts, size_t times) {
  for (const size_t part : parts) uses_[part].push_back(ways_.size());
  ways_.push_back({result, parts.size(), 0, times});
}

SKALD_INLINE void ShortestTexts::Add(const Grammar::Characters& characters, size_t result) {
  const CharacterRanges set = Tidied(characters.set);
  if (!set.empty()) AddText(result, Utf8Of(set[0].first).size());
}

SKALD_INLINE void ShortestTexts::Add(const Grammar::Sequence& sequence, size_t result) {
  if (sequence.parts.empty()) return AddText(result, 0);
  for (const Grammar::Expression part : sequence.parts) uses_[part].push_back(ways_.size());
  ways_.push_back({result, sequence.parts.size(), 0, 1});
}

SKALD_INLINE void ShortestTexts::Add(const Grammar::Choice& choice, size_t result) {
  for (const Grammar::Expression part : choice.parts) AddWay(result, {part});
}

SKALD_INLINE void ShortestTexts::Add(const Grammar::Repeat& repeat, size_t result) {
  if (repeat.max && *repeat.max < repeat.min) return;
  if (repeat.min == 0) return AddText(result, 0);
  AddWay(result, {repeat.part}, repeat.min);
}

SKALD_INLINE void ShortestTexts::Add(const Grammar::Graph& graph, size_t result) {
  const size_t nodes = shortest_.size();
  Grow(nodes + graph.nodes);
  AddText(nodes, 0);
  for (const Grammar::Graph::Edge& edge : graph.edges) AddWay(nodes + edge.to, {nodes + edge.from, edge.text});
  AddWay(result, {nodes + 1});
}

SKALD_INLINE void ShortestTexts::Find() {
  while (!known_.empty()) {
    const auto [bytes, at] = known_.top();
    known_.pop();
    if (shortest_[at] != kNoText) continue;  // the first was the shortest
    shortest_[at] = bytes;
    for (const size_t use : uses_[at]) {
      Way& way = ways_[use];
      way.bytes = bytes > kNoText - way.bytes ? kNoText : way.bytes + bytes;
      if (--way.missing > 0 || way.bytes > kNoText / way.times) continue;
      if (way.bytes * way.times < kNoText) AddText(way.result, way.bytes * way.times);
    }
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_SHORTEST_TEXT_H_
