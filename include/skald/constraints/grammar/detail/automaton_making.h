// SPDX-License-Identifier: Apache-2.0
//
// How a GrammarAutomaton gets its states: those of its rules, and of repetitions that have a count. A part of
// automaton.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_MAKING_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_MAKING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/counted_loops.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/limits.h"
#include "skald/constraints/grammar/rule_graph.h"
#include "skald/constraints/grammar/shortest_text.h"

namespace skald::internal {

// Makes the states of one rule: Rabin and Scott, "Finite automata and their decision problems", 1959, where a call is
// one more letter.
class GrammarAutomaton::RuleMaker {
 public:
  RuleMaker(const RuleGraph& graph, GrammarAutomaton& into, uint32_t rule, size_t& work)
      : graph_(graph), into_(into), rule_(rule), work_(work), marks_(graph.size(), 0) {}

  // Returns false where it takes too many states, or too long. Its first state is `start`.
  bool Make(uint32_t& start) {
    start = StateOf({RuleGraph::kStart});
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
    std::array<bool, 257> begins = {};  // an interval, or the state after one
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

// Decides which repetitions have a count.
class GrammarAutomaton::LoopFinder {
 public:
  LoopFinder(const Grammar& grammar, const InlineRules& inlined, GrammarAutomaton& into, size_t& work)
      : grammar_(grammar), inlined_(inlined), into_(into), work_(work) {}

  // The rule whose loops are looked for.
  void Enter(Grammar::Rule rule) { rule_ = rule; }

  std::optional<uint32_t> Find(Grammar::Expression repeat) {
    const auto known = known_.find(repeat);
    if (known != known_.end()) return known->second;
    const auto found = Decide(std::get<Grammar::Repeat>(grammar_.form(repeat)));
    known_.emplace(repeat, found);
    return found;
  }

 private:
  std::optional<uint32_t> Decide(const Grammar::Repeat& repeat) {
    constexpr size_t kFewTimes = 16;
    const size_t times = repeat.max.value_or(repeat.min);
    if (times <= kFewTimes || times < repeat.min || repeat.min > kMostCount / 2) return std::nullopt;
    const RuleGraph part(grammar_, inlined_, repeat.part, kMaxGrammarStates, find_);
    work_ += part.size();
    if (part.size() * std::min(times, kMaxGrammarStates) <= kMostCopiedStates || part.is_too_large())
      return std::nullopt;
    if (shortest_.empty()) shortest_ = ShortestTexts(grammar_).all();
    if (shortest_[repeat.part] == 0 || !IsNoBeginningOfItself(part)) return std::nullopt;
    const bool is_bounded = repeat.max && *repeat.max <= kMostCount / 2;  // more than any text needs
    const std::optional<uint32_t> max = is_bounded ? std::optional(static_cast<uint32_t>(*repeat.max)) : std::nullopt;
    into_.loops_.push_back({repeat.part, rule_, static_cast<uint32_t>(repeat.min), max});
    return kFirstLoop + static_cast<uint32_t>(into_.loops_.size() - 1);
  }

  // Whether a text of it cannot go on to another one: then where one time ends is certain, and a text has one count.
  bool IsNoBeginningOfItself(const RuleGraph& part) const {
    GrammarAutomaton alone;
    uint32_t start = 0;
    if (!RuleMaker(part, alone, 0, work_).Make(start)) return false;
    for (uint32_t state = 0; state < alone.size(); ++state) {
      if (alone.is_final(state) && !alone.is_last(state)) return false;
    }
    return true;
  }

  const Grammar& grammar_;
  const InlineRules& inlined_;
  GrammarAutomaton& into_;
  size_t& work_;
  Grammar::Rule rule_ = 0;
  std::map<Grammar::Expression, std::optional<uint32_t>> known_;
  std::vector<size_t> shortest_;
  const RuleGraph::FindLoop find_ = [this](Grammar::Expression repeat) { return Find(repeat); };
};

SKALD_INLINE Result<void> GrammarAutomaton::AddRules(const Grammar& grammar) {
  const std::vector<Grammar::NamedRule>& rules = grammar.rules();
  if (rules.size() > kMaxGrammarRules) {
    return Fail(ErrorCode::kUnsupported, Concat({"the grammar has ", std::to_string(rules.size()), " rules; at most ",
                                                 std::to_string(kMaxGrammarRules), " are supported"}));
  }
  const InlineRules inlined(grammar);
  size_t work = 0;
  LoopFinder loops(grammar, inlined, *this, work);
  const RuleGraph::FindLoop find = [&loops](Grammar::Expression repeat) { return loops.Find(repeat); };
  const auto add = [&](Grammar::Expression text, Grammar::Rule rule, uint32_t& start) -> Result<void> {
    loops.Enter(rule);
    const RuleGraph graph(grammar, inlined, text, kMaxGrammarStates, find);
    work += graph.size();
    if (!graph.is_too_large() && RuleMaker(graph, *this, rule, work).Make(start)) return {};
    return Fail(ErrorCode::kUnsupported,
                Concat({"rule ", QuotedName(rules[rule].name),
                        " makes the grammar too large: ", std::to_string(kMaxGrammarStates),
                        " states are supported, where most repetitions count once ", "for each time"}));
  };
  starts_.assign(rules.size(), 0);
  for (uint32_t rule = 0; rule < rules.size(); ++rule) {
    if (rule != Grammar::kRoot && inlined.Has(rule)) continue;
    SKALD_TRY(add(rules[rule].text, rule, starts_[rule]));
  }
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < loops_.size(); ++i) {  // parts have loops too
    parts.push_back(0);
    SKALD_TRY(add(loops_[i].part, loops_[i].owner, parts.back()));
  }
  return PlaceLoops(grammar, parts);
}

// Gives the loops, whose parts begin at `starts`, their states, and calls what they call.
SKALD_INLINE Result<void> GrammarAutomaton::PlaceLoops(const Grammar& grammar, const std::vector<uint32_t>& starts) {
  uint32_t next = size();
  for (size_t i = 0; i < loops_.size(); ++i) {
    CountedLoop& loop = loops_[i];
    loop.first = next;
    loop.start = starts[i];
    if (loop.last() >= kMostCount - next) {
      return Fail(ErrorCode::kUnsupported, Concat({"rule ", QuotedName(grammar.rules()[loop.owner].name),
                                                   " makes the grammar too large: all repetitions together are of ",
                                                   "more than ", std::to_string(kMostCount), " times"}));
    }
    next += loop.last() + 1;
  }
  for (CallEdge& call : calls_) {
    call.rule = call.rule >= kFirstLoop ? loops_[call.rule - kFirstLoop].first : starts_[call.rule];
  }
  starts_.insert(starts_.end(), starts.begin(), starts.end());
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_MAKING_H_
