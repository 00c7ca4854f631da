// SPDX-License-Identifier: Apache-2.0

#include "serve/chat/tool_filter.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/text/filters/grammar_filter.h"
#include "skald/text/filters/json_schema.h"

namespace skald::serve {
namespace {

using Expression = Grammar::Expression;

// Adds all of `part` to `grammar` and returns what its whole text is there.
Expression Embed(const Grammar& part, Grammar& grammar) {
  const auto first_rule = static_cast<Grammar::Rule>(grammar.rules().size());
  for (const Grammar::NamedRule& rule : part.rules()) grammar.AddRule(rule.name);
  // Expressions keep their order, and so their distances: number 0, the empty text, is added once more.
  const auto first = static_cast<Expression>(grammar.expressions());
  for (Expression i = 0; i < part.expressions(); ++i) {
    Grammar::Form form = part.form(i);
    if (auto* sequence = std::get_if<Grammar::Sequence>(&form)) {
      for (Expression& one : sequence->parts) one += first;
    } else if (auto* choice = std::get_if<Grammar::Choice>(&form)) {
      for (Expression& one : choice->parts) one += first;
    } else if (auto* repeat = std::get_if<Grammar::Repeat>(&form)) {
      repeat->part += first;
    } else if (auto* call = std::get_if<Grammar::Call>(&form)) {
      call->rule += first_rule;
    } else if (auto* graph = std::get_if<Grammar::Graph>(&form)) {
      for (Grammar::Graph::Edge& edge : graph->edges) edge.text += first;
    }
    std::visit([&](auto& one) { grammar.Add(std::move(one)); }, form);
  }
  for (size_t i = 0; i < part.rules().size(); ++i) {
    grammar.Define(first_rule + static_cast<Grammar::Rule>(i), part.rules()[i].text + first);
  }
  return grammar.Add(Grammar::Call{first_rule});
}

// Writes the grammar of calls of some tools.
class CallGrammar {
 public:
  CallGrammar(const OutputFormat& format, const ToolList& tools, bool mistral_arguments)
      : format_(format), tools_(tools), mistral_arguments_(mistral_arguments) {}

  // What begins a call where the model may write anything; a call that must come begins the text.
  std::string_view trigger() const {
    switch (format_.tools) {
      case ToolForm::kLlama3:
        return "{\"name\":";
      case ToolForm::kMistral:
        return "[TOOL_CALLS]";
      case ToolForm::kHarmony:
        return " to=functions.";
      default:
        return "<tool_call>";
    }
  }

  // A call, or a list of them, behind what triggers it, or with that.
  Result<Grammar> Make(bool with_trigger) {
    Grammar grammar;
    std::vector<Expression> calls;
    for (const Tool& tool : tools_.tools) {
      if (!tools_.only.empty() && tool.name != tools_.only) continue;
      auto call = CallOf(tool, grammar);
      if (!call) return Failure(call.error());
      calls.push_back(*call);
    }
    Expression call = grammar.Add(Grammar::Choice{std::move(calls)});
    if (format_.tools == ToolForm::kMistral && !mistral_arguments_) call = ListOf(call, grammar);
    std::vector<Expression> parts = {call};
    if (with_trigger) {
      const bool is_message = format_.tools == ToolForm::kHarmony;
      parts.insert(parts.begin(),
                   grammar.Literal((is_message ? "<|channel|>commentary" : "") + std::string(trigger())));
    }
    grammar.Define(Grammar::kRoot, grammar.Add(Grammar::Sequence{std::move(parts)}));
    return grammar;
  }

 private:
  Result<Expression> CallOf(const Tool& tool, Grammar& grammar) {
    const auto around = [&](const std::string& before, Expression arguments, std::string_view behind) {
      return grammar.Add(Grammar::Sequence{{grammar.Literal(before), arguments, grammar.Literal(behind)}});
    };
    if (format_.tools == ToolForm::kQwenCoder) {
      auto parameters = Parameters(tool, grammar);
      if (!parameters) return parameters;
      return around("\n<function=" + tool.name + ">\n", *parameters, "</function>\n</tool_call>");
    }
    auto arguments = ArgumentsOf(tool.parameters, grammar);
    if (!arguments) return arguments;
    switch (format_.tools) {
      case ToolForm::kLlama3:
        return around(" \"" + tool.name + "\", \"parameters\": ", *arguments, "}");
      case ToolForm::kMistral:
        return mistral_arguments_ ? around(tool.name + "[ARGS]", *arguments, "")
                                  : around("{\"name\": \"" + tool.name + "\", \"arguments\": ", *arguments, "}");
      case ToolForm::kHarmony:
        return around(tool.name + " <|constrain|>json<|message|>", *arguments, "");
      default:
        return around("\n{\"name\": \"" + tool.name + "\", \"arguments\": ", *arguments, "}\n</tool_call>");
    }
  }

  static Result<Expression> ArgumentsOf(const nlohmann::ordered_json& schema, Grammar& grammar) {
    auto part = ParseJsonSchema(schema.is_object() && !schema.empty() ? schema.dump() : R"({"type": "object"})");
    if (!part) part = AnyJsonObject();
    if (!part) return Failure(part.error());
    return Embed(*part, grammar);
  }

  // <parameter=KEY> value </parameter> in the schema's order. Values are JSON where they are no strings.
  static Result<Expression> Parameters(const Tool& tool, Grammar& grammar) {
    std::vector<Expression> all;
    const auto properties = tool.parameters.find("properties");
    if (!tool.parameters.is_object() || properties == tool.parameters.end()) return Grammar::kEmpty;
    const auto required = tool.parameters.find("required");
    const auto is_required = [&](const std::string& name) {
      return required != tool.parameters.end() &&
             std::find(required->begin(), required->end(), name) != required->end();
    };
    for (auto property = properties->begin(); property != properties->end(); ++property) {
      Result<Expression> value = TextWithoutEndTag(grammar);
      if (property->is_object() && property->value("type", "string") != "string") {
        value = ArgumentsOf(*property, grammar);
      }
      if (!value) return value;
      const Expression one = grammar.Add(Grammar::Sequence{
          {grammar.Literal("<parameter=" + property.key() + ">\n"), *value, grammar.Literal("\n</parameter>\n")}});
      all.push_back(is_required(property.key()) ? one : grammar.Maybe(one));
    }
    return grammar.Add(Grammar::Sequence{std::move(all)});
  }

  static Expression TextWithoutEndTag(Grammar& grammar) {
    const Expression plain = grammar.Add(Grammar::Characters{Complement({{'<', '<'}})});
    const Expression tag = grammar.Add(
        Grammar::Sequence{{grammar.Literal("<"), grammar.Add(Grammar::Characters{Complement({{'/', '/'}})})}});
    return grammar.Add(Grammar::Repeat{grammar.Add(Grammar::Choice{{plain, tag}})});
  }

  Expression ListOf(Expression call, Grammar& grammar) const {
    const Expression more = grammar.Add(Grammar::Sequence{{grammar.Literal(", "), call}});
    const Expression others =
        tools_.is_parallel && tools_.only.empty() ? grammar.Add(Grammar::Repeat{more}) : Grammar::kEmpty;
    return grammar.Add(Grammar::Sequence{{grammar.Literal("["), call, others, grammar.Literal("]")}});
  }

  const OutputFormat& format_;
  const ToolList& tools_;
  const bool mistral_arguments_;
};

// Lets anything come until the text ends with one of two marks: that of a thought's end, behind which `must` begins, or
// the trigger, behind which `may` does.
class CallFilter final : public TokenFilter {
 public:
  struct Parts {
    std::shared_ptr<const TokenVocabulary> vocabulary;
    std::string trigger, think_end;
    SharedFilter must, may;          // either may be null
    bool goes_on = false;            // behind a call anything may come again
    std::vector<uint64_t> all = {};  // a bit for each token
  };

  CallFilter(std::shared_ptr<const Parts> parts, bool is_free) : parts_(std::move(parts)) {
    if (!is_free && parts_->must) call_.emplace(*parts_->must);
    has_called_ = parts_->must == nullptr;
  }

  Result<std::unique_ptr<TokenFilter>> Clone() const override {
    return NoThrow("a filter of calls",
                   [&]() -> Result<std::unique_ptr<TokenFilter>> { return std::make_unique<CallFilter>(*this); });
  }

  Result<std::span<const uint64_t>> Allowed() override {
    if (call_) return call_->Allowed();
    return std::span<const uint64_t>(parts_->all);
  }

  Result<void> Accept(int32_t id) override {
    if (!call_) return Watch(id);
    if (auto accepted = call_->Accept(id); !accepted) return accepted;
    if (!call_->has_ended() && call_->IsComplete() && parts_->goes_on && parts_->may) {
      call_.reset();
      tail_.clear();
    }
    return {};
  }

  // A thought that was not ended comes before a call that must.
  bool IsComplete() const override { return call_ ? call_->IsComplete() : has_called_; }

 private:
  Result<void> Watch(int32_t id) {
    const TokenVocabulary& vocabulary = *parts_->vocabulary;
    if (id < 0 || static_cast<size_t>(id) >= vocabulary.size() || vocabulary.IsEnd(id)) return {};
    return NoThrow("a filter of calls", [&]() -> Result<void> {
      tail_ += vocabulary.BytesOf(id);
      if (!has_called_) {
        if (tail_.ends_with(parts_->think_end) || tail_.ends_with(parts_->think_end + "\n\n")) Begin(parts_->must);
      } else if (parts_->may && tail_.ends_with(parts_->trigger)) {
        Begin(parts_->may);
      }
      if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
      return {};
    });
  }
  void Begin(const SharedFilter& filter) {
    call_.emplace(*filter);
    has_called_ = true;
  }

  static constexpr size_t kTail = 64;  // bytes; more than any mark has

  std::shared_ptr<const Parts> parts_;
  std::optional<GrammarFilter> call_;  // that is being written
  std::string tail_;                   // of what came outside of calls
  bool has_called_;
};

// All that the grammar of calls depends on.
std::string KeyOf(const ToolList& tools, bool with_trigger) {
  auto key = nlohmann::ordered_json::array({with_trigger, tools.only, tools.is_parallel});
  for (const Tool& tool : tools.tools) key.push_back(nlohmann::ordered_json::array({tool.name, tool.parameters}));
  return "tools " + key.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Result<std::shared_ptr<const TokenVocabulary>> VocabularyWithNames(const Tokenizer& tokenizer,
                                                                   std::span<const int32_t> end_ids) {
  return NoThrow("the vocabulary of calls", [&]() -> Result<std::shared_ptr<const TokenVocabulary>> {
    const auto texts = TokenVocabulary::Make(tokenizer, end_ids);
    if (!texts) return Failure(texts.error());
    std::vector<std::string> tokens((*texts)->size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      tokens[i] = (*texts)->BytesOf(id);
      if (!tokens[i].empty() || (*texts)->IsEnd(id)) continue;
      const auto name = tokenizer.IdToPiece(id);
      if (name && tokenizer.SpecialId(*name) == id) tokens[i] = *name;
    }
    return TokenVocabulary::From(tokens, end_ids);
  });
}

Result<std::shared_ptr<const TokenFilter>> AfterThought(SharedFilter filter,
                                                        std::shared_ptr<const TokenVocabulary> vocabulary,
                                                        std::string think_end) {
  return NoThrow("a filter behind a thought", [&]() -> Result<std::shared_ptr<const TokenFilter>> {
    auto parts = std::make_shared<CallFilter::Parts>();
    parts->vocabulary = std::move(vocabulary);
    parts->think_end = std::move(think_end);
    parts->must = std::move(filter);
    parts->all.assign(parts->vocabulary->mask_words(), ~uint64_t{0});
    return std::make_shared<CallFilter>(std::move(parts), /*is_free=*/true);
  });
}

Result<std::shared_ptr<const TokenFilter>> MakeToolFilter(const OutputFormat& format, const ToolList& tools,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary,
                                                          bool mistral_arguments, bool begins_thinking,
                                                          FilterCache& cache) {
  return NoThrow("a filter of calls", [&]() -> Result<std::shared_ptr<const TokenFilter>> {
    CallGrammar calls(format, tools, mistral_arguments);
    const auto compiled = [&](bool with_trigger) {
      return cache.Get(KeyOf(tools, with_trigger), [&]() -> Result<GrammarFilter> {
        const auto grammar = calls.Make(with_trigger);
        if (!grammar) return Failure(grammar.error());
        return GrammarFilter::Compile(*grammar, vocabulary);
      });
    };
    auto parts = std::make_shared<CallFilter::Parts>();
    parts->vocabulary = vocabulary;
    parts->trigger = calls.trigger();
    parts->think_end = format.think_end;
    parts->all.assign(vocabulary->mask_words(), ~uint64_t{0});
    const bool must = tools.choice == ToolChoice::kRequired;
    // Behind a call that must come others may, but for a single tool, or where the calls are one list or one message.
    parts->goes_on = tools.is_parallel && tools.only.empty() &&
                     (format.tools == ToolForm::kHermes || format.tools == ToolForm::kQwenCoder);
    if (must) {
      auto filter = compiled(/*with_trigger=*/true);
      if (!filter) return Failure(filter.error());
      parts->must = *std::move(filter);
    }
    if (!must || parts->goes_on) {
      auto filter = compiled(/*with_trigger=*/false);
      if (!filter) return Failure(filter.error());
      parts->may = *std::move(filter);
    }
    return std::make_shared<CallFilter>(std::move(parts), !must || begins_thinking);
  });
}

}  // namespace skald::serve
