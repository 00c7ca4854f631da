// SPDX-License-Identifier: Apache-2.0
//
// One rule of a grammar as a nondeterministic automaton: states joined by edges that cost a byte of an interval, a call
// of another rule, or nothing. Small rules without loops are put in where they are called. Source: Thompson, "Regular
// expression search algorithm", CACM 1968.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_RULE_GRAPH_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_RULE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "skald/text/filters/grammar/characters.h"
#include "skald/text/filters/grammar/grammar.h"
#include "skald/text/filters/grammar/limits.h"

namespace skald::internal {

struct ByteEdge {
  ByteInterval bytes;
  uint32_t to;
};

struct CallEdge {
  uint32_t rule;  // of the grammar; of an automaton the rule's first state
  uint32_t back;  // the state behind the call
};

// Which rules to put in where they are called: without loops, and no longer than a few letters.
class InlineRules {
 public:
  explicit InlineRules(const Grammar& grammar) : grammar_(grammar), sizes_(grammar.rules().size(), kUnknown) {
    for (Grammar::Rule rule = 0; rule < sizes_.size(); ++rule) SizeOf(rule);
  }
  bool Has(Grammar::Rule rule) const { return sizes_[rule] <= kMostInlined; }

 private:
  static constexpr size_t kMostInlined = 48, kTooMuch = kMostInlined + 1, kUnknown = kTooMuch + 1;

  size_t SizeOf(Grammar::Rule rule) {
    if (sizes_[rule] != kUnknown) return sizes_[rule];
    if (depth_ > kMostInlined) return kTooMuch;
    sizes_[rule] = kTooMuch;  // for a rule that calls itself
    ++depth_;
    sizes_[rule] = Size(grammar_.rules()[rule].text, kMostInlined);
    --depth_;
    return sizes_[rule];
  }

  // States of an expression, or kTooMuch where they are more than `most`.
  size_t Size(Grammar::Expression expression, size_t most) {
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
  static size_t Limited(size_t size, size_t most) { return size > most ? kTooMuch : size; }

  const Grammar& grammar_;
  std::vector<size_t> sizes_;
  size_t depth_ = 0;  // calls within calls
};

class RuleGraph {
 public:
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<uint32_t> free;
  };
  static constexpr uint32_t kStart = 0, kEnd = 1;

  // Which repetitions are called as rules are: returns the number to call, or nothing.
  using FindLoop = std::function<std::optional<uint32_t>(Grammar::Expression repeat)>;

  // Of a rule's text. Errors: see is_too_large.
  RuleGraph(const Grammar& grammar, const InlineRules& inlined, Grammar::Expression text, size_t max_states,
            const FindLoop& find_loop)
      : grammar_(grammar), inlined_(inlined), max_states_(max_states), find_loop_(find_loop), states_(2) {
    Build(text, kStart, kEnd);
  }

  // Whether the rule has more states than it may. What is there is then not all of it.
  bool is_too_large() const { return states_.size() > max_states_; }
  size_t size() const { return states_.size(); }
  const State& state(uint32_t index) const { return states_[index]; }

 private:
  uint32_t NewState() {
    if (!is_too_large()) states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }

  void Build(Grammar::Expression expression, uint32_t from, uint32_t to) {
    if (is_too_large()) return;
    if (std::holds_alternative<Grammar::Repeat>(grammar_.form(expression))) {
      if (const auto loop = find_loop_(expression)) return states_[from].calls.push_back({*loop, to});
    }
    std::visit([&](const auto& form) { BuildForm(form, from, to); }, grammar_.form(expression));
  }
  void BuildForm(const Grammar::Sequence& sequence, uint32_t from, uint32_t to) {
    for (const Grammar::Expression part : sequence.parts) {
      const uint32_t next = NewState();
      Build(part, from, next);
      from = next;
    }
    states_[from].free.push_back(to);
  }
  void BuildForm(const Grammar::Text& text, uint32_t from, uint32_t to) {
    for (const char c : text.bytes) {
      const uint32_t next = NewState();
      const auto byte = static_cast<uint8_t>(c);
      states_[from].bytes.push_back({{byte, byte}, next});
      from = next;
    }
    states_[from].free.push_back(to);
  }
  void BuildForm(const Grammar::Characters& characters, uint32_t from, uint32_t to) {
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
  void BuildForm(const Grammar::Choice& choice, uint32_t from, uint32_t to) {
    for (const Grammar::Expression part : choice.parts) {
      const uint32_t begin = NewState();  // so that no loop in one part leads into another
      states_[from].free.push_back(begin);
      Build(part, begin, to);
    }
  }
  void BuildForm(const Grammar::Repeat& repeat, uint32_t from, uint32_t to) {
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
  void BuildForm(const Grammar::Call& call, uint32_t from, uint32_t to) {
    if (inlined_.Has(call.rule)) return Build(grammar_.rules()[call.rule].text, from, to);
    states_[from].calls.push_back({call.rule, to});
  }
  void BuildForm(const Grammar::Graph& graph, uint32_t from, uint32_t to) {
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

  const Grammar& grammar_;
  const InlineRules& inlined_;
  size_t max_states_;
  const FindLoop& find_loop_;
  std::vector<State> states_;
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_RULE_GRAPH_H_
