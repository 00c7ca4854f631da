// SPDX-License-Identifier: Apache-2.0
//
// How short the texts of a grammar can be: what must be left of an answer that shall come to its end.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <queue>
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

// Knuth, "A generalization of Dijkstra's algorithm", 1977: the time grows with the grammar and the logarithm of it.
class ShortestTexts {
 public:
  explicit ShortestTexts(const Grammar& grammar) {
    const size_t rules = grammar.rules().size();
    first_rule_ = grammar.expressions();
    Grow(first_rule_ + rules);
    for (size_t rule = 0; rule < rules; ++rule) AddWay(first_rule_ + rule, {grammar.rules()[rule].text});
    for (Grammar::Expression i = 0; i < first_rule_; ++i) {
      std::visit([&](const auto& form) { Add(form, i); }, grammar.form(i));
    }
    Find();
  }

  // By expression, and by what else there is behind them.
  const std::vector<size_t>& all() const { return shortest_; }
  size_t OfRoot() const { return shortest_[first_rule_ + Grammar::kRoot]; }

 private:
  // A text of `result` is those of some parts, one behind the other and all of them `times` times.
  struct Way {
    size_t result, missing;  // parts whose shortest text is not known yet
    size_t bytes, times;
  };

  void Grow(size_t size) {
    shortest_.resize(size, kNoText);
    uses_.resize(size);
  }
  void AddWay(size_t result, std::initializer_list<size_t> parts, size_t times = 1) {
    for (const size_t part : parts) uses_[part].push_back(ways_.size());
    ways_.push_back({result, parts.size(), 0, times});
  }
  void AddText(size_t result, size_t bytes) { known_.emplace(bytes, result); }

  void Add(const Grammar::Text& text, size_t result) { AddText(result, text.bytes.size()); }
  void Add(const Grammar::Characters& characters, size_t result) {
    const CharacterRanges set = Tidied(characters.set);
    if (!set.empty()) AddText(result, Utf8Of(set[0].first).size());
  }
  void Add(const Grammar::Sequence& sequence, size_t result) {
    if (sequence.parts.empty()) return AddText(result, 0);
    for (const Grammar::Expression part : sequence.parts) uses_[part].push_back(ways_.size());
    ways_.push_back({result, sequence.parts.size(), 0, 1});
  }
  void Add(const Grammar::Choice& choice, size_t result) {
    for (const Grammar::Expression part : choice.parts) AddWay(result, {part});
  }
  void Add(const Grammar::Repeat& repeat, size_t result) {
    if (repeat.max && *repeat.max < repeat.min) return;
    if (repeat.min == 0) return AddText(result, 0);
    AddWay(result, {repeat.part}, repeat.min);
  }
  void Add(const Grammar::Call& call, size_t result) { AddWay(result, {first_rule_ + call.rule}); }
  void Add(const Grammar::Graph& graph, size_t result) {
    const size_t nodes = shortest_.size();
    Grow(nodes + graph.nodes);
    AddText(nodes, 0);
    for (const Grammar::Graph::Edge& edge : graph.edges) AddWay(nodes + edge.to, {nodes + edge.from, edge.text});
    AddWay(result, {nodes + 1});
  }

  void Find() {
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

  size_t first_rule_ = 0;
  std::vector<Way> ways_;
  std::vector<size_t> shortest_;           // of expressions, rules and nodes of graphs
  std::vector<std::vector<size_t>> uses_;  // by the same, in which ways it is a part
  std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>, std::greater<>> known_;
};

}  // namespace internal

inline size_t ShortestText(const Grammar& grammar) { return internal::ShortestTexts(grammar).OfRoot(); }

}  // namespace skald

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_SHORTEST_TEXT_H_
