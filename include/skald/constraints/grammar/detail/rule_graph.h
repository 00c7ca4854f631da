// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/rule_graph.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_RULE_GRAPH_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_RULE_GRAPH_H_

#include "skald/constraints/grammar/rule_graph.h"

#include <span>
#include <variant>

#include "skald/base/inline.h"
#include "skald/constraints/grammar/limits.h"

namespace skald {

namespace internal {

SKALD_INLINE InlineRules::InlineRules(const Grammar& grammar)
    : grammar_(grammar), sizes_(grammar.rules().size(), kUnknown) {
  for (Grammar::Rule rule = 0; rule < sizes_.size(); ++rule) SizeOf(rule);
}

SKALD_INLINE size_t InlineRules::SizeOf(Grammar::Rule rule) {
  if (sizes_[rule] != kUnknown) return sizes_[rule];
  if (depth_ > kMostInlined) return kTooMuch;
  sizes_[rule] = kTooMuch;  // for a rule that calls itself
  ++depth_;
  sizes_[rule] = Size(grammar_.rules()[rule].text, kMostInlined);
  --depth_;
  return sizes_[rule];
}

SKALD_INLINE size_t InlineRules::Size(Grammar::Expression expression, size_t most) {
  const Grammar::Form& form = grammar_.form(expression);
  if (most == 0) return kTooMuch;
  const auto sum = [&](const std::vector<Grammar::Expression>& parts) {
    size_t total = 1;
    for (const Grammar::Expression part : parts) {
      total += total > most ? kTooMuch : Size(part, most - 1);
      if (total > most) return kTooMuch;
    }
    return total;
  };
  if (const auto* const text = std::get_if<Grammar::Text>(&form)) return Limited(1 + text->bytes.size(), most);
  if (const auto* const letters = std::get_if<Grammar::Characters>(&form)) {
    return Limited(1 + letters->set.size(), most);
  }
  if (const auto* const sequence = std::get_if<Grammar::Sequence>(&form)) return sum(sequence->parts);
  if (const auto* const choice = std::get_if<Grammar::Choice>(&form)) return sum(choice->parts);
  if (const auto* const call = std::get_if<Grammar::Call>(&form)) return Limited(1 + SizeOf(call->rule), most);
  if (const auto* const repeat = std::get_if<Grammar::Repeat>(&form)) {
    if (!repeat->max || *repeat->max > most) return kTooMuch;
    return Limited(1 + *repeat->max * Size(repeat->part, most - 1), most);
  }
  return kTooMuch;
}

SKALD_INLINE RuleGraph::RuleGraph(const Grammar& grammar, const InlineRules& inlined, Grammar::Expression text,
                                  size_t max_states, const FindLoop& find_loop)
    : grammar_(grammar), inlined_(inlined), max_states_(max_states), find_loop_(find_loop), states_(2) {
  Build(text, kStart, kEnd);
}

SKALD_INLINE uint32_t RuleGraph::NewState() {
  if (!is_too_large()) states_.emplace_back();
  return static_cast<uint32_t>(states_.size() - 1);
}

SKALD_INLINE void RuleGraph::Build(Grammar::Expression expression, uint32_t from, uint32_t to) {
  if (is_too_large()) return;
  if (std::holds_alternative<Grammar::Repeat>(grammar_.form(expression))) {
    if (const auto loop = find_loop_(expression)) return states_[from].calls.push_back({*loop, to});
  }
  std::visit([&](const auto& form) { BuildForm(form, from, to); }, grammar_.form(expression));
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Sequence& sequence, uint32_t from, uint32_t to) {
  for (const Grammar::Expression part : sequence.parts) {
    const uint32_t next = NewState();
    Build(part, from, next);
    from = next;
  }
  states_[from].free.push_back(to);
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Text& text, uint32_t from, uint32_t to) {
  for (const char c : text.bytes) {
    const uint32_t next = NewState();
    const auto byte = static_cast<uint8_t>(c);
    states_[from].bytes.push_back({{byte, byte}, next});
    from = next;
  }
  states_[from].free.push_back(to);
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Characters& characters, uint32_t from, uint32_t to) {
  const auto add = [&](std::span<const ByteInterval> sequence) {
    uint32_t at = from;
    for (const ByteInterval& bytes : sequence) {
      const uint32_t next = &bytes == &sequence.back() ? to : NewState();
      states_[at].bytes.push_back({bytes, next});
      at = next;
    }
  };
  for (const CharacterRange& range : Tidied(characters.set)) TellUtf8(range, add);
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Choice& choice, uint32_t from, uint32_t to) {
  for (const Grammar::Expression part : choice.parts) {
    const uint32_t begin = NewState();  // so that no loop in one part leads into another
    states_[from].free.push_back(begin);
    Build(part, begin, to);
  }
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Repeat& repeat, uint32_t from, uint32_t to) {
  for (size_t i = 0; i < repeat.min && !is_too_large(); ++i) {
    const uint32_t next = NewState();
    Build(repeat.part, from, next);
    from = next;
  }
  if (!repeat.max) {
    const uint32_t loop = NewState(), end = NewState();
    states_[from].free.push_back(loop);
    Build(repeat.part, loop, end);
    states_[end].free.push_back(loop);
    states_[loop].free.push_back(to);
    return;
  }
  for (size_t i = repeat.min; i < *repeat.max && !is_too_large(); ++i) {
    const uint32_t begin = NewState(), next = NewState();
    states_[from].free.push_back(to);
    states_[from].free.push_back(begin);
    Build(repeat.part, begin, next);
    from = next;
  }
  if (*repeat.max >= repeat.min) states_[from].free.push_back(to);
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Call& call, uint32_t from, uint32_t to) {
  if (inlined_.Has(call.rule)) return Build(grammar_.rules()[call.rule].text, from, to);
  states_[from].calls.push_back({call.rule, to});
}

SKALD_INLINE void RuleGraph::BuildForm(const Grammar::Graph& graph, uint32_t from, uint32_t to) {
  std::vector<uint32_t> nodes(graph.nodes);
  for (uint32_t& node : nodes) node = NewState();
  states_[from].free.push_back(nodes[0]);
  states_[nodes[1]].free.push_back(to);
  for (const Grammar::Graph::Edge& edge : graph.edges) {
    const uint32_t begin = NewState();
    states_[nodes[edge.from]].free.push_back(begin);
    Build(edge.text, begin, nodes[edge.to]);
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_RULE_GRAPH_H_
