// SPDX-License-Identifier: Apache-2.0
//
// GrammarAutomaton: a grammar as a pushdown automaton over bytes. Each rule is a deterministic automaton whose states
// have edges for bytes and for calls of rules; what is read is a stack of states, the upper ones inside of calls that
// the lower ones wait for. Immutable once made; safe for concurrent calls.
//
// States that no text leads out of are not entered, so every text that was begun can be ended.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_AUTOMATON_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_AUTOMATON_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/result.h"
#include "skald/text/filters/grammar/grammar.h"
#include "skald/text/filters/grammar/limits.h"
#include "skald/text/filters/grammar/rule_graph.h"

namespace skald::internal {

class GrammarAutomaton {
 public:
  // Errors: more than a limit of limits.h allows; a rule that calls itself before any byte; a grammar without any text
  // that ends.
  static Result<GrammarAutomaton> Make(const Grammar& grammar);

  static constexpr uint32_t kRoot = 0;  // where the root rule begins

  size_t size() const { return states_.size(); }
  std::span<const ByteEdge> bytes(uint32_t state) const {
    return {bytes_.data() + states_[state].first_byte, states_[state].byte_edges};
  }
  std::span<const CallEdge> calls(uint32_t state) const {
    return {calls_.data() + states_[state].first_call, states_[state].call_edges};
  }
  // Whether the rule may end here.
  bool is_final(uint32_t state) const { return states_[state].is_final; }
  // Whether it must.
  bool is_last(uint32_t state) const {
    return states_[state].is_final && states_[state].byte_edges == 0 && states_[state].call_edges == 0;
  }
  // Calls within calls that it takes from here to the end of the rule, or kNeverEnds.
  uint32_t need(uint32_t state) const { return states_[state].need; }
  static constexpr uint32_t kNeverEnds = ~uint32_t{0};

  // Bytes of one class are on the same edges everywhere.
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  // The first byte behind `byte` that is of another class; 256 if there is none.
  size_t EndOfClass(uint8_t byte) const {
    const size_t next = class_of(byte) + size_t{1};
    return next < classes() ? byte_of(next) : 256;
  }
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
  // States of a RuleGraph that are read side by side, in order: those with edges that cost something, and the end.
  using Subset = std::vector<uint32_t>;

  class RuleMaker;

  Result<void> AddRules(const Grammar& grammar);
  void FindNeeds();
  Result<void> CheckLeftRecursion(const Grammar& grammar) const;
  std::vector<bool> FindEmptyRules() const;
  void FindByteClasses();

  std::vector<State> states_;
  std::vector<ByteEdge> bytes_;
  std::vector<CallEdge> calls_;
  std::vector<uint32_t> starts_;  // of each rule
  std::array<uint8_t, 256> class_of_ = {};
  std::vector<uint8_t> byte_of_;
};

// Implementation.

// Makes the states of one rule: Rabin and Scott, "Finite automata and their decision problems", 1959, where a call is
// one more letter.
class GrammarAutomaton::RuleMaker {
 public:
  RuleMaker(const RuleGraph& graph, GrammarAutomaton& into, uint32_t rule, size_t& work)
      : graph_(graph), into_(into), rule_(rule), work_(work), marks_(graph.size(), 0) {}

  // Returns false where it takes too many states, or too long.
  bool Make() {
    into_.starts_[rule_] = StateOf({RuleGraph::kStart});
    for (size_t i = 0; i < subsets_.size(); ++i) {
      if (into_.states_.size() > kMaxGrammarStates || work_ > kMaxGrammarWork) return false;
      AddEdges(first_ + static_cast<uint32_t>(i), Subset(*subsets_[i]));
    }
    return true;
  }

 private:
  // The automaton's state for what `targets` lead to without a cost.
  uint32_t StateOf(Subset targets) {
    ++mark_;
    Subset subset;
    while (!targets.empty()) {
      const uint32_t at = targets.back();
      targets.pop_back();
      if (std::exchange(marks_[at], mark_) == mark_) continue;
      const RuleGraph::State& state = graph_.state(at);
      work_ += 1 + state.free.size();
      if (at == RuleGraph::kEnd || !state.bytes.empty() || !state.calls.empty()) subset.push_back(at);
      targets.insert(targets.end(), state.free.begin(), state.free.end());
    }
    std::sort(subset.begin(), subset.end());
    const auto next = static_cast<uint32_t>(into_.states_.size());
    const auto [entry, is_new] = known_.try_emplace(std::move(subset), next);
    if (is_new) {
      if (subsets_.empty()) first_ = next;
      subsets_.push_back(&entry->first);
      State& state = into_.states_.emplace_back();
      state.rule = rule_;
      state.is_final = std::binary_search(entry->first.begin(), entry->first.end(), RuleGraph::kEnd);
    }
    return entry->second;
  }

  void AddEdges(uint32_t from, const Subset& subset) {
    std::vector<ByteEdge> edges;
    std::map<uint32_t, Subset> calls;
    for (const uint32_t at : subset) {
      const RuleGraph::State& state = graph_.state(at);
      edges.insert(edges.end(), state.bytes.begin(), state.bytes.end());
      for (const CallEdge& call : state.calls) calls[call.rule].push_back(call.back);
    }
    work_ += edges.size();
    std::vector<ByteEdge> joined = Join(edges);
    into_.states_[from].first_byte = static_cast<uint32_t>(into_.bytes_.size());
    into_.states_[from].byte_edges = static_cast<uint32_t>(joined.size());
    into_.bytes_.insert(into_.bytes_.end(), joined.begin(), joined.end());
    std::vector<CallEdge> made;
    for (auto& [rule, backs] : calls) made.push_back({rule, StateOf(std::move(backs))});
    into_.states_[from].first_call = static_cast<uint32_t>(into_.calls_.size());
    into_.states_[from].call_edges = static_cast<uint32_t>(made.size());
    into_.calls_.insert(into_.calls_.end(), made.begin(), made.end());
  }

  // Edges for intervals that do not overlap, each to the state of all that its bytes lead to.
  std::vector<ByteEdge> Join(const std::vector<ByteEdge>& edges) {
    std::array<bool, 257> begins = {};  // an interval, or what is behind one
    for (const ByteEdge& edge : edges) begins[edge.bytes.first] = begins[edge.bytes.last + size_t{1}] = true;
    std::vector<ByteEdge> joined;
    for (size_t first = 0, end = 1; first < 256; first = end++) {
      while (end < 256 && !begins[end]) ++end;
      Subset targets;
      for (const ByteEdge& edge : edges) {
        if (edge.bytes.first <= first && first <= edge.bytes.last) targets.push_back(edge.to);
      }
      work_ += edges.size();
      if (targets.empty()) continue;
      const uint32_t to = StateOf(std::move(targets));
      if (!joined.empty() && joined.back().to == to && joined.back().bytes.last + size_t{1} == first) {
        joined.back().bytes.last = static_cast<uint8_t>(end - 1);
      } else {
        joined.push_back({{static_cast<uint8_t>(first), static_cast<uint8_t>(end - 1)}, to});
      }
    }
    return joined;
  }

  const RuleGraph& graph_;
  GrammarAutomaton& into_;
  uint32_t rule_;
  size_t& work_;
  uint32_t first_ = 0;
  std::map<Subset, uint32_t> known_;
  std::vector<const Subset*> subsets_;  // by state of the automaton, from first_ on
  std::vector<uint32_t> marks_;         // what StateOf has met, by its running number
  uint32_t mark_ = 0;
};

inline Result<GrammarAutomaton> GrammarAutomaton::Make(const Grammar& grammar) {
  GrammarAutomaton automaton;
  if (Result<void> added = automaton.AddRules(grammar); !added) return Failure(added.error());
  if (Result<void> checked = automaton.CheckLeftRecursion(grammar); !checked) return Failure(checked.error());
  automaton.FindNeeds();
  if (automaton.need(kRoot) == kNeverEnds) {
    return Fail(ErrorCode::kInvalidArgument,
                "the grammar allows no text: every way through it goes on forever or stops");
  }
  if (automaton.need(kRoot) >= kMaxGrammarDepth) {
    return Fail(ErrorCode::kUnsupported, Concat({"the shortest text of the grammar has more than ",
                                                 std::to_string(kMaxGrammarDepth), " calls of rules within calls"}));
  }
  automaton.FindByteClasses();
  return automaton;
}

inline Result<void> GrammarAutomaton::AddRules(const Grammar& grammar) {
  const std::vector<Grammar::NamedRule>& rules = grammar.rules();
  if (rules.size() > kMaxGrammarRules) {
    return Fail(ErrorCode::kUnsupported, Concat({"the grammar has ", std::to_string(rules.size()), " rules; at most ",
                                                 std::to_string(kMaxGrammarRules), " are supported"}));
  }
  const InlineRules inlined(grammar);
  starts_.assign(rules.size(), 0);
  size_t work = 0;
  for (uint32_t rule = 0; rule < rules.size(); ++rule) {
    if (rule != Grammar::kRoot && inlined.Has(rule)) continue;
    const RuleGraph graph(grammar, inlined, rule, kMaxGrammarStates);
    work += graph.size();
    if (!graph.is_too_large() && RuleMaker(graph, *this, rule, work).Make()) continue;
    return Fail(ErrorCode::kUnsupported, Concat({"rule ", QuotedName(rules[rule].name),
                                                 " makes the grammar too large: ", std::to_string(kMaxGrammarStates),
                                                 " states are supported, where repetitions count once for each time"}));
  }
  for (CallEdge& call : calls_) call.rule = starts_[call.rule];
  return {};
}

// Knuth, "A generalization of Dijkstra's algorithm", 1977, with a plain queue: needs are small numbers.
inline void GrammarAutomaton::FindNeeds() {
  std::vector<std::vector<uint32_t>> before(states_.size());  // states whose need depends on this one's
  std::vector<uint32_t> changed;
  for (uint32_t state = 0; state < states_.size(); ++state) {
    for (const ByteEdge& edge : bytes(state)) before[edge.to].push_back(state);
    for (const CallEdge& call : calls(state)) {
      before[call.rule].push_back(state);
      before[call.back].push_back(state);
    }
    if (!is_final(state)) continue;
    states_[state].need = 0;
    changed.push_back(state);
  }
  const auto need_now = [this](uint32_t state) {
    uint32_t least = need(state);
    for (const ByteEdge& edge : bytes(state)) least = std::min(least, need(edge.to));
    for (const CallEdge& call : calls(state)) {
      const uint32_t inside = need(call.rule), behind = need(call.back);
      if (inside == kNeverEnds || behind == kNeverEnds) continue;
      least = std::min(least, std::max(inside + (is_last(call.back) ? 0 : 1), behind));
    }
    return least;
  };
  for (size_t i = 0; i < changed.size(); ++i) {
    for (const uint32_t state : before[changed[i]]) {
      const uint32_t least = need_now(state);
      if (least == need(state)) continue;
      states_[state].need = least;
      changed.push_back(state);
    }
  }
}

// By state: whether its rule can end from here without a byte.
inline std::vector<bool> GrammarAutomaton::FindEmptyRules() const {
  std::vector<std::vector<uint32_t>> before(states_.size());
  std::vector<bool> is_empty(states_.size());
  std::vector<uint32_t> found;
  for (uint32_t state = 0; state < states_.size(); ++state) {
    for (const CallEdge& call : calls(state)) {
      before[call.rule].push_back(state);
      before[call.back].push_back(state);
    }
    if (is_final(state)) found.push_back(state);
    is_empty[state] = is_final(state);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    for (const uint32_t state : before[found[i]]) {
      if (is_empty[state]) continue;
      const auto all = calls(state);
      is_empty[state] = std::any_of(all.begin(), all.end(),
                                    [&](const CallEdge& call) { return is_empty[call.rule] && is_empty[call.back]; });
      if (is_empty[state]) found.push_back(state);
    }
  }
  return is_empty;
}

// A loop of calls without a byte between would never end. It goes through the first state of a rule.
inline Result<void> GrammarAutomaton::CheckLeftRecursion(const Grammar& grammar) const {
  const std::vector<bool> is_empty = FindEmptyRules();
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(states_.size(), Mark::kNew);
  std::vector<std::pair<uint32_t, bool>> stack;  // a state, and whether all behind it is done
  for (const uint32_t start : starts_) {
    stack.push_back({start, false});
    while (!stack.empty()) {
      const auto [state, is_done] = stack.back();
      stack.pop_back();
      if (is_done) {
        marks[state] = Mark::kDone;
        continue;
      }
      if (marks[state] != Mark::kNew) continue;
      marks[state] = Mark::kOpen;
      stack.push_back({state, true});
      for (const CallEdge& call : calls(state)) {
        if (marks[call.rule] == Mark::kOpen) {
          const std::string& name = grammar.rules()[states_[call.rule].rule].name;
          return Fail(
              ErrorCode::kUnsupported,
              Concat({"rule ", QuotedName(name),
                      " calls itself before any character (left recursion); put what repeats behind a character, "
                      "or write it with * or +"}));
        }
        stack.push_back({call.rule, false});
        if (is_empty[call.rule]) stack.push_back({call.back, false});
      }
    }
  }
  return {};
}

inline void GrammarAutomaton::FindByteClasses() {
  std::array<bool, 257> begins = {};
  begins[0] = true;
  for (const ByteEdge& edge : bytes_) begins[edge.bytes.first] = begins[edge.bytes.last + size_t{1}] = true;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (begins[byte]) byte_of_.push_back(static_cast<uint8_t>(byte));
    class_of_[byte] = static_cast<uint8_t>(byte_of_.size() - 1);
  }
}

}  // namespace skald::internal

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_AUTOMATON_H_
