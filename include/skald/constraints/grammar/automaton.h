// SPDX-License-Identifier: Apache-2.0
//
// GrammarAutomaton: a grammar as a pushdown automaton over bytes. Each rule is a deterministic automaton whose states
// have edges for bytes and for calls of rules; what is read is a stack of states, the upper ones inside of calls that
// the lower ones wait for. Immutable once made; safe for concurrent calls.
//
// States that no text leads out of are not entered, so every text that was begun can be ended.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_AUTOMATON_H_
#define SKALD_CONSTRAINTS_GRAMMAR_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/grammar/counted_loops.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/rule_graph.h"

namespace skald::internal {

class GrammarAutomaton {
 public:
  // Errors: more than a limit of limits.h allows; a rule that calls itself before any byte; a grammar without any text
  // that ends.
  static Result<GrammarAutomaton> Make(const Grammar& grammar);

  static constexpr uint32_t kRoot = 0;  ///< where the root rule begins

  /// States but for those of counted loops, which have calls only, and numbers from here on.
  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  std::span<const ByteEdge> bytes(uint32_t state) const;
  template <class Tell>
  void ForEachCall(uint32_t state, const Tell& tell) const {
    if (state >= size()) {
      const CountedLoop& loop = LoopAt(state);
      if (!loop.IsLast(state - loop.first)) tell(CallEdge{loop.start, loop.Next(state - loop.first)});
      return;
    }
    for (const CallEdge& call : calls(state)) tell(call);
  }
  /// Whether the rule may end here.
  bool is_final(uint32_t state) const;
  /// Whether it must.
  bool is_last(uint32_t state) const;
  /// Calls within calls that it takes from here to the end of the rule, or kNeverEnds.
  uint32_t need(uint32_t state) const;
  /// A state from which a text of up to `bytes` bytes goes on just as from `state`: one for all counts of a loop that
  /// are that far from its ends.
  uint32_t Alike(uint32_t state, size_t bytes) const;
  /// About the memory that it takes.
  size_t memory() const;
  bool has_loops() const { return !loops_.empty(); }
  static constexpr uint32_t kNeverEnds = ~uint32_t{0};

  /// Bytes of one class are on the same edges everywhere.
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  /// The first byte after `byte` that is of another class; 256 if there is none.
  size_t EndOfClass(uint8_t byte) const;
  uint8_t byte_of(size_t byte_class) const { return byte_of_[byte_class]; }
  size_t classes() const { return byte_of_.size(); }

 private:
  struct State {
    uint32_t first_byte = 0, byte_edges = 0;
    uint32_t first_call = 0, call_edges = 0;
    uint32_t need = kNeverEnds;
    uint32_t rule = 0;
    bool is_final = false;
  };
  /// States of a RuleGraph that are read side by side, in order: those with edges that cost something, and the end.
  using Subset = std::vector<uint32_t>;

  class RuleMaker;
  class LoopFinder;

  /// Counts of all loops together.
  static constexpr uint32_t kMostCount = uint32_t{1} << 30;

  std::span<const CallEdge> calls(uint32_t state) const;
  const CountedLoop& LoopAt(uint32_t state) const { return loops_[LoopIndex(state)]; }
  size_t LoopIndex(uint32_t state) const;
  /// States and, after them, one for each loop: where each begins.
  size_t nodes() const { return states_.size() + loops_.size(); }
  size_t NodeOf(uint32_t state) const { return state < size() ? state : states_.size() + LoopIndex(state); }
  /// The calls at a node.
  template <class Tell>
  void ForEachCallAt(size_t node, const Tell& tell) const;

  Result<void> AddRules(const Grammar& grammar);
  Result<void> PlaceLoops(const Grammar& grammar, const std::vector<uint32_t>& starts);
  void FindNeeds();
  Result<void> CheckLeftRecursion(const Grammar& grammar) const;
  std::vector<bool> FindEmptyRules() const;
  void FindByteClasses();

  std::vector<State> states_;
  std::vector<ByteEdge> bytes_;
  std::vector<CallEdge> calls_;
  std::vector<uint32_t> starts_;    ///< of each rule and of each loop's part
  std::vector<CountedLoop> loops_;  ///< in the order of their states
  std::array<uint8_t, 256> class_of_ = {};
  std::vector<uint8_t> byte_of_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/automaton.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_AUTOMATON_H_
