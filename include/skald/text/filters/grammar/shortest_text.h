// SPDX-License-Identifier: Apache-2.0
//
// How short the texts of a grammar can be: what must be left of an answer that shall come to its end.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "skald/text/filters/grammar/characters.h"
#include "skald/text/filters/grammar/grammar.h"

namespace skald {

// Stands for no text at all.
inline constexpr size_t kNoText = std::numeric_limits<size_t>::max();

// Returns the bytes of the shortest text, so no text needs more tokens of a vocabulary that has every byte; kNoText
// where there is none.
inline size_t ShortestText(const Grammar& grammar);

// Implementation.

namespace internal {

class ShortestTexts {
 public:
  explicit ShortestTexts(const Grammar& grammar)
      : grammar_(grammar), expressions_(grammar.expressions(), kNoText), rules_(grammar.rules().size(), kNoText) {}

  // By expression. May be asked once.
  std::vector<size_t> OfAll() && {
    Find();
    return std::move(expressions_);
  }
  size_t OfRoot() && {
    Find();
    return rules_[Grammar::kRoot];
  }

 private:
  void Find() {
    for (bool changes = true; changes;) {
      changes = false;
      // The parts of an expression were made before it.
      for (Grammar::Expression i = 0; i < expressions_.size(); ++i) {
        expressions_[i] = std::visit([this](const auto& form) { return Of(form); }, grammar_.form(i));
      }
      for (size_t rule = 0; rule < rules_.size(); ++rule) {
        const size_t least = expressions_[grammar_.rules()[rule].text];
        changes = changes || least < rules_[rule];
        rules_[rule] = std::min(rules_[rule], least);
      }
    }
  }

  static size_t Sum(size_t a, size_t b) { return a > kNoText - b ? kNoText : a + b; }

  size_t Of(const Grammar::Text& text) const { return text.bytes.size(); }
  size_t Of(const Grammar::Characters& characters) const {
    const CharacterRanges set = Tidied(characters.set);
    return set.empty() ? kNoText : Utf8Of(set[0].first).size();
  }
  size_t Of(const Grammar::Sequence& sequence) const {
    size_t sum = 0;
    for (const Grammar::Expression part : sequence.parts) sum = Sum(sum, expressions_[part]);
    return sum;
  }
  size_t Of(const Grammar::Choice& choice) const {
    size_t least = kNoText;
    for (const Grammar::Expression part : choice.parts) least = std::min(least, expressions_[part]);
    return least;
  }
  size_t Of(const Grammar::Repeat& repeat) const {
    const size_t once = expressions_[repeat.part];
    if (repeat.max && *repeat.max < repeat.min) return kNoText;
    if (repeat.min == 0 || once == 0) return 0;
    return once > kNoText / repeat.min ? kNoText : once * repeat.min;
  }
  size_t Of(const Grammar::Call& call) const { return rules_[call.rule]; }
  // Bellman and Ford.
  size_t Of(const Grammar::Graph& graph) const {
    std::vector<size_t> nodes(graph.nodes, kNoText);
    nodes[0] = 0;
    for (bool changes = true; changes;) {
      changes = false;
      for (const Grammar::Graph::Edge& edge : graph.edges) {
        const size_t there = Sum(nodes[edge.from], expressions_[edge.text]);
        changes = changes || there < nodes[edge.to];
        nodes[edge.to] = std::min(nodes[edge.to], there);
      }
    }
    return nodes[1];
  }

  const Grammar& grammar_;
  std::vector<size_t> expressions_, rules_;
};

}  // namespace internal

inline size_t ShortestText(const Grammar& grammar) { return internal::ShortestTexts(grammar).OfRoot(); }

}  // namespace skald

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_
