// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/tools/answer_filter.h.

#ifndef SKALD_OPEN_TOOLS_DETAIL_ANSWER_FILTER_H_
#define SKALD_OPEN_TOOLS_DETAIL_ANSWER_FILTER_H_

#include "skald/open/tools/answer_filter.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/shortest_text.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/open/tools/detail/call_filter.h"
#include "skald/open/tools/detail/call_grammar.h"

namespace skald {

namespace internal::calls {

// Makes the grammars of one request's answers.
class AnswerGrammars {
 public:
  AnswerGrammars(const AnswerRules& rules, std::shared_ptr<const TokenVocabulary> vocabulary, FilterCache& cache)
      : rules_(rules), vocabulary_(std::move(vocabulary)), cache_(cache), calls_(rules.format, rules.tools) {}

  const CallGrammar& calls() const { return calls_; }

  // A call, after the text that triggers it.
  Result<SharedFilter> May() {
    return Kept("call", [this] { return Grammars([this](Grammar& grammar) { return calls_.AddCall(grammar); }); });
  }
  // The beginning of an answer whose prompt has the mark of calls.
  Result<SharedFilter> Start() {
    return Kept("start", [this] {
      return Grammars([this](Grammar& grammar) -> Result<Expression> {
        SKALD_ASSIGN(const auto call, calls_.AddCall(grammar));
        return grammar.Add(Grammar::Choice{{call, grammar.Literal(calls_.text_begin())}});
      });
    });
  }
  // A whole answer, with `before` before it.
  Result<SharedFilter> Must(const std::string& before) {
    return Kept("answer" + before,
                [&] { return Grammars([&](Grammar& grammar) { return AddMust(before, grammar); }); });
  }
  // How many tokens the answer with `before` needs at most if it is as short as it can be.
  Result<size_t> ShortestMust(const std::string& before) {
    Grammar grammar;
    SKALD_ASSIGN(const auto text, AddMust(before, grammar));
    grammar.Define(Grammar::kRoot, text);
    return ShortestText(grammar);
  }

 private:
  Result<Expression> AddMust(const std::string& before, Grammar& grammar) const {
    std::vector<Expression> ways;
    if (rules_.tools.may_call()) {
      SKALD_ASSIGN(const auto calls, calls_.AddAnswer(grammar));
      ways.push_back(calls);
    }
    if (rules_.schema && rules_.tools.choice != ToolChoice::kRequired) {
      SKALD_ASSIGN(const auto schema, rules_.schema->empty() ? AnyJsonObject() : ParseJsonSchema(*rules_.schema));
      ways.push_back(calls_.AddText(schema, grammar));
    }
    const Expression answer = grammar.Add(Grammar::Choice{std::move(ways)});
    if (!rules_.begins_thinking) return answer;
    // Models write blank lines after a thought.
    const Expression lines = grammar.Add(Grammar::Repeat{grammar.Literal("\n"), 0, 2});
    return grammar.Add(Grammar::Sequence{{grammar.Literal(before), lines, answer}});
  }

  // Compiles the grammar that add(grammar) makes the root of. Where tools make it too large, those that do become any
  // object, then all of them.
  template <class AddRoot>
  Result<GrammarFilter> Grammars(const AddRoot& add) {
    std::set<std::string> loose, all;
    for (const Tool& tool : rules_.tools.tools) all.insert(tool.name);
    for (;;) {
      calls_.Loosen(loose);
      Grammar grammar;
      SKALD_ASSIGN(const auto root, add(grammar));
      grammar.Define(Grammar::kRoot, root);
      auto filter = GrammarFilter::Compile(grammar, vocabulary_);
      if (filter || filter.error().code != ErrorCode::kUnsupported || loose == all) return filter;
      const std::set<std::string> large = loose.empty() ? LargeTools() : all;
      loose = large.empty() ? all : large;
    }
  }

  // Those that do not compile even alone. None where that is not what is wrong, or where to find it out takes long:
  // many such tools, or many states of the others.
  std::set<std::string> LargeTools() const {
    constexpr size_t kMostLarge = 4;
    std::set<std::string> large;
    size_t states = 0;
    for (const Tool& tool : rules_.tools.tools) {
      ToolList alone;
      alone.tools.push_back(tool);
      const CallGrammar calls(rules_.format, alone);
      Grammar grammar;
      const auto root = calls.AddCall(grammar);
      if (root) grammar.Define(Grammar::kRoot, *root);
      const auto automaton = root ? GrammarAutomaton::Make(grammar) : Failure(root.error());
      if (automaton) {
        states += automaton->size();
      } else {
        large.insert(tool.name);
      }
      if (large.size() > kMostLarge || states > kMaxGrammarStates) return {};
    }
    return large;
  }

  template <class Make>
  Result<SharedFilter> Kept(const std::string& what, const Make& make) {
    const ToolList& tools = rules_.tools;
    auto key = nlohmann::ordered_json::array({what, rules_.needs_names(), rules_.begins_thinking, tools.only,
                                              tools.is_parallel, static_cast<int>(tools.choice),
                                              rules_.schema ? nlohmann::ordered_json(*rules_.schema) : nullptr});
    for (const Tool& tool : tools.tools) {
      key.push_back(nlohmann::ordered_json::array({tool.name, TreeOf(tool.parameters)}));
    }
    return cache_.Get(key.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), make);
  }

  const AnswerRules& rules_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  FilterCache& cache_;
  CallGrammar calls_;
};

// How many tokens a thought may take, so that the shortest answer fits after it, and a longer one if there is room.
inline uint32_t MostThought(uint32_t max_tokens, size_t shortest) {
  constexpr uint32_t kMostSpare = 256;
  const uint32_t spare = std::min(max_tokens / 4, kMostSpare);
  const size_t kept = std::min<size_t>(shortest, max_tokens) + spare;
  return max_tokens - static_cast<uint32_t>(std::min<size_t>(kept, max_tokens));
}

}  // namespace internal::calls

SKALD_INLINE Result<std::shared_ptr<const TokenVocabulary>> VocabularyWithNames(const Tokenizer& tokenizer,
                                                                                std::span<const int32_t> end_ids) {
  return NoThrow("the vocabulary of calls", [&]() -> Result<std::shared_ptr<const TokenVocabulary>> {
    SKALD_ASSIGN(const auto texts, TokenVocabulary::Make(tokenizer, end_ids));
    std::vector<std::string> tokens(texts->size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      tokens[i] = texts->BytesOf(id);
      if (!tokens[i].empty() || texts->IsEnd(id)) continue;
      const auto name = tokenizer.IdToPiece(id);
      if (name && tokenizer.SpecialId(*name) == id) tokens[i] = *name;
    }
    return TokenVocabulary::From(tokens, end_ids);
  });
}

SKALD_INLINE Result<std::shared_ptr<const TokenFilter>> MakeAnswerFilter(
    const AnswerRules& rules, std::shared_ptr<const TokenVocabulary> vocabulary, FilterCache& cache) {
  return NoThrow("an answer's filter", [&]() -> Result<std::shared_ptr<const TokenFilter>> {
    const bool may_call = rules.tools.may_call();
    const bool must = rules.schema || (may_call && rules.tools.choice == ToolChoice::kRequired);
    if (!may_call && !must) return nullptr;
    internal::calls::AnswerGrammars grammars(rules, vocabulary, cache);
    auto plan = std::make_shared<internal::calls::CallFilter::Plan>();
    plan->vocabulary = vocabulary;
    plan->think_begin = rules.format.think_begin;
    plan->think_end = rules.format.think_end;
    plan->begins_thinking = rules.begins_thinking;
    if (must) {
      SKALD_ASSIGN(auto filter, grammars.Must(""));
      if (!rules.begins_thinking) return filter;
      plan->must = std::move(filter);
      SKALD_ASSIGN(auto closing, grammars.Must(plan->think_end));
      plan->closing = std::move(closing);
      SKALD_ASSIGN(const auto shortest, grammars.ShortestMust(plan->think_end));
      plan->most_thought = internal::calls::MostThought(rules.max_tokens, shortest);
    } else {
      SKALD_ASSIGN(auto filter, grammars.May());
      plan->may = std::move(filter);
      plan->triggers = grammars.calls().triggers();
      plan->first_triggers = grammars.calls().first_triggers();
      plan->first_marks = grammars.calls().first_marks();
      plan->start_text = grammars.calls().text_begin();
      if (!plan->start_text.empty()) {
        SKALD_ASSIGN(plan->start, grammars.Start());
      }
      plan->goes_on = grammars.calls().goes_on();
    }
    return std::make_shared<internal::calls::CallFilter>(std::move(plan));
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_DETAIL_ANSWER_FILTER_H_
