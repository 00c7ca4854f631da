// SPDX-License-Identifier: Apache-2.0
//
// One rule of a grammar as a nondeterministic automaton: states joined by edges that cost a byte of an interval, a call
// of another rule, or nothing. Small rules without loops are put in where they are called. Source: Thompson, "Regular
// expression search algorithm", CACM 1968.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_RULE_GRAPH_H_
#define SKALD_CONSTRAINTS_GRAMMAR_RULE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/grammar.h"

namespace skald::internal {

struct ByteEdge {
  ByteInterval bytes;
  uint32_t to;
};

struct CallEdge {
  uint32_t rule;  ///< of the grammar; of an automaton the rule's first state
  uint32_t back;  ///< the state after the call
};

/// Which rules to put in where they are called: without loops, and no longer than a few letters.
class InlineRules {
 public:
  explicit InlineRules(const Grammar& grammar);
  bool Has(Grammar::Rule rule) const { return sizes_[rule] <= kMostInlined; }

 private:
  static constexpr size_t kMostInlined = 48, kTooMuch = kMostInlined + 1, kUnknown = kTooMuch + 1;

  size_t SizeOf(Grammar::Rule rule);

  /// States of an expression, or kTooMuch where they are more than `most`.
  size_t Size(Grammar::Expression expression, size_t most);
  static size_t Limited(size_t size, size_t most) { return size > most ? kTooMuch : size; }

  const Grammar& grammar_;
  std::vector<size_t> sizes_;
  size_t depth_ = 0;  ///< calls within calls
};

class RuleGraph {
 public:
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<uint32_t> free;
  };
  static constexpr uint32_t kStart = 0, kEnd = 1;

  /// Which repetitions are called as rules are: returns the number to call, or nothing.
  using FindLoop = std::function<std::optional<uint32_t>(Grammar::Expression repeat)>;

  /// Of a rule's text. Errors: see is_too_large.
  RuleGraph(const Grammar& grammar, const InlineRules& inlined, Grammar::Expression text, size_t max_states,
            const FindLoop& find_loop);

  /// Whether the rule has more states than it may. The existing states are then not all of it.
  bool is_too_large() const { return states_.size() > max_states_; }
  size_t size() const { return states_.size(); }
  const State& state(uint32_t index) const { return states_[index]; }

 private:
  uint32_t NewState();

  void Build(Grammar::Expression expression, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Sequence& sequence, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Text& text, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Characters& characters, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Choice& choice, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Repeat& repeat, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Call& call, uint32_t from, uint32_t to);
  void BuildForm(const Grammar::Graph& graph, uint32_t from, uint32_t to);

  const Grammar& grammar_;
  const InlineRules& inlined_;
  size_t max_states_;
  const FindLoop& find_loop_;
  std::vector<State> states_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/rule_graph.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_RULE_GRAPH_H_
