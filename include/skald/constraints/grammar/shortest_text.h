// SPDX-License-Identifier: Apache-2.0
//
// How short the texts of a grammar can be: what must be left of an answer that shall come to its end.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_SHORTEST_TEXT_H_
#define SKALD_CONSTRAINTS_GRAMMAR_SHORTEST_TEXT_H_

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "skald/constraints/grammar/grammar.h"

namespace skald {

/// There is no text at all.
inline constexpr size_t kNoText = std::numeric_limits<size_t>::max();

/// Returns the bytes of the shortest text, so no text needs more tokens of a vocabulary that has every byte; kNoText if
/// there is none.
size_t ShortestText(const Grammar& grammar);

namespace internal {

/// Knuth, "A generalization of Dijkstra's algorithm", 1977: the time grows with the grammar and the logarithm of it.
class ShortestTexts {
 public:
  explicit ShortestTexts(const Grammar& grammar);

  /// By expression, and by the expressions that follow it.
  const std::vector<size_t>& all() const { return shortest_; }
  size_t OfRoot() const { return shortest_[first_rule_ + Grammar::kRoot]; }

 private:
  // A text of `result` is those of some parts in order, and all of them `times` times.
  struct Way {
    size_t result, missing;  ///< parts whose shortest text is not known yet
    size_t bytes, times;
  };

  void Grow(size_t size);
  void AddWay(size_t result, std::initializer_list<size_t> parts, size_t times = 1);
  void AddText(size_t result, size_t bytes) { known_.emplace(bytes, result); }

  void Add(const Grammar::Text& text, size_t result) { AddText(result, text.bytes.size()); }
  void Add(const Grammar::Characters& characters, size_t result);
  void Add(const Grammar::Sequence& sequence, size_t result);
  void Add(const Grammar::Choice& choice, size_t result);
  void Add(const Grammar::Repeat& repeat, size_t result);
  void Add(const Grammar::Call& call, size_t result) { AddWay(result, {first_rule_ + call.rule}); }
  void Add(const Grammar::Graph& graph, size_t result);

  void Find();

  size_t first_rule_ = 0;
  std::vector<Way> ways_;
  std::vector<size_t> shortest_;           ///< of expressions, rules and nodes of graphs
  std::vector<std::vector<size_t>> uses_;  ///< by the same, in which ways it is a part
  std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>, std::greater<>> known_;
};

}  // namespace internal

inline size_t ShortestText(const Grammar& grammar) { return internal::ShortestTexts(grammar).OfRoot(); }

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/shortest_text.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_SHORTEST_TEXT_H_
