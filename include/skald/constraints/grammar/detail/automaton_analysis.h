// SPDX-License-Identifier: Apache-2.0
//
// The analysis of a GrammarAutomaton's states: how deep texts must go to their ends, and whether any way would continue
// without a byte for ever. A part of automaton.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_ANALYSIS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_ANALYSIS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/counted_loops.h"
#include "skald/constraints/grammar/grammar.h"

namespace skald::internal {

template <class Tell>
void GrammarAutomaton::ForEachCallAt(size_t node, const Tell& tell) const {
  ForEachCall(node < states_.size() ? static_cast<uint32_t>(node) : loops_[node - states_.size()].first, tell);
}

// Knuth, "A generalization of Dijkstra's algorithm", 1977, with a plain queue: needs are small numbers.
SKALD_INLINE void GrammarAutomaton::FindNeeds() {
  std::vector<std::vector<uint32_t>> before(nodes());  // nodes whose need depends on this one's
  std::vector<uint32_t> changed;
  for (CountedLoop& loop : loops_) loop.need = kNeverEnds;
  for (uint32_t node = 0; node < nodes(); ++node) {
    if (node < size()) {
      for (const ByteEdge& edge : bytes(node)) before[edge.to].push_back(node);
    }
    ForEachCallAt(node, [&](const CallEdge& call) {
      before[NodeOf(call.rule)].push_back(node);
      if (call.back < size()) before[call.back].push_back(node);
    });
    if (node >= size() || !is_final(node)) continue;
    states_[node].need = 0;
    changed.push_back(node);
  }
  for (size_t i = 0; i < loops_.size(); ++i) {
    if (loops_[i].min == 0) changed.push_back(static_cast<uint32_t>(states_.size() + i));
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
    for (const uint32_t node : before[changed[i]]) {
      uint32_t& known = node < size() ? states_[node].need : loops_[node - size()].need;
      const uint32_t least = node < size() ? need_now(node) : need(loops_[node - size()].start);
      if (least == known) continue;
      known = least;
      changed.push_back(node);
    }
  }
}

// By node: whether its rule can end from there without a byte.
SKALD_INLINE std::vector<bool> GrammarAutomaton::FindEmptyRules() const {
  std::vector<std::vector<uint32_t>> before(nodes());
  std::vector<bool> is_empty(nodes());
  std::vector<uint32_t> found;
  for (uint32_t node = 0; node < nodes(); ++node) {
    is_empty[node] = node < size() ? is_final(node) : loops_[node - size()].min == 0;
    if (is_empty[node]) found.push_back(node);
    if (node >= size()) continue;  // a loop's part is never empty
    for (const CallEdge& call : calls(node)) {
      before[NodeOf(call.rule)].push_back(node);
      before[call.back].push_back(node);
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    for (const uint32_t state : before[found[i]]) {
      if (is_empty[state]) continue;
      const auto all = calls(state);
      is_empty[state] = std::any_of(all.begin(), all.end(), [&](const CallEdge& call) {
        return is_empty[NodeOf(call.rule)] && is_empty[call.back];
      });
      if (is_empty[state]) found.push_back(state);
    }
  }
  return is_empty;
}

// A loop of calls without a byte between would never end. It goes through the first state of a rule.
SKALD_INLINE Result<void> GrammarAutomaton::CheckLeftRecursion(const Grammar& grammar) const {
  const std::vector<bool> is_empty = FindEmptyRules();
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(nodes(), Mark::kNew);
  std::vector<std::pair<size_t, bool>> stack;  // a node, and whether all nodes after it are done
  const auto rule_of = [this](size_t node) {
    return node < states_.size() ? states_[node].rule : loops_[node - states_.size()].owner;
  };
  for (const uint32_t start : starts_) {
    stack.push_back({start, false});
    while (!stack.empty()) {
      const auto [node, is_done] = stack.back();
      stack.pop_back();
      if (is_done) {
        marks[node] = Mark::kDone;
        continue;
      }
      if (marks[node] != Mark::kNew) continue;
      marks[node] = Mark::kOpen;
      stack.push_back({node, true});
      std::optional<size_t> open;
      ForEachCallAt(node, [&](const CallEdge& call) {
        const size_t inside = NodeOf(call.rule);
        if (marks[inside] == Mark::kOpen) open = inside;
        stack.push_back({inside, false});
        if (is_empty[inside]) stack.push_back({NodeOf(call.back), false});
      });
      if (!open) continue;
      return Fail(ErrorCode::kUnsupported,
                  Concat({"rule ", QuotedName(grammar.rules()[rule_of(*open)].name),
                          " calls itself before any character (left recursion); put the repetition after a character, "
                          "or write it with * or +"}));
    }
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_ANALYSIS_H_
