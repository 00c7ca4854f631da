// SPDX-License-Identifier: Apache-2.0
//
// CallGrammar: how calls of some tools are written, as a grammar, in the form that the model was trained on. All that
// it allows the parser of that form reads back.

#ifndef SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_
#define SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_value_tree.h"
#include "skald/base/result.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/json_schema.h"
#include "skald/open/tools/detail/parameters.h"
#include "skald/open/tools/detail/tagged_call.h"
#include "skald/open/tools/detail/whole_calls.h"
#include "skald/open/tools/output_format.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

class CallGrammar {
 public:
  // `tools` must outlive this.
  CallGrammar(const OutputFormat& format, const ToolList& tools)
      : form_(format.tools), tools_(tools), mistral_arguments_(format.mistral_arguments) {}

  // The texts that begin a call where the model may write any text.
  std::vector<std::string> triggers() const;
  // Whether it begins one only as the beginning of an answer.
  bool begins_answer() const { return form_ == ToolForm::kLlama3; }
  // Whether text or another call may come after a call.
  bool goes_on() const {
    return tools_.is_parallel && tools_.only.empty() && (form_ == ToolForm::kHermes || form_ == ToolForm::kQwenCoder);
  }

  // These tools' arguments may be any object, whatever their schemas say.
  void Loosen(std::set<std::string> names) { loose_ = std::move(names); }

  // Adds a call, or the list of them that is one, after the text that triggers it.
  Result<Grammar::Expression> AddCall(Grammar& grammar) const;
  // Adds calls that are a whole answer: the first with the text that triggers it, then others if the form has them.
  Result<Grammar::Expression> AddAnswer(Grammar& grammar) const;
  // Adds `answer`, a grammar of its own, as this form writes a final answer.
  Grammar::Expression AddText(const Grammar& answer, Grammar& grammar) const;

 private:
  Result<Grammar::Expression> AddCallOf(const Tool& tool, Grammar& grammar) const;
  Result<Grammar::Expression> AddParameters(const Tool& tool, Grammar& grammar) const;

  ToolForm form_;
  const ToolList& tools_;
  bool mistral_arguments_;
  std::set<std::string> loose_;
};

using Expression = Grammar::Expression;
using Json = nlohmann::ordered_json;

// Adds all of `part` to `grammar` and returns what its whole text is there.
inline Expression Embed(const Grammar& part, Grammar& grammar) {
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

inline std::string AsText(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Values that fit `schema`, or `other` if filters do not know it.
inline Result<Expression> AddJson(const Json& schema, const char* other, Grammar& grammar) {
  auto part = ParseJsonSchema(AsText(schema));
  if (!part) part = ParseJsonSchema(other);
  if (!part) return Failure(part.error());
  return Embed(*part, grammar);
}

// Any text without the end of a parameter: from each beginning of that mark, whatever does not go on with it.
inline Expression AddParameterText(Grammar& grammar) {
  const auto set = [&](const CharacterRanges& ranges) { return grammar.Add(Grammar::Characters{ranges}); };
  const CharacterRanges begin = {{'<', '<'}};  // comes once in the mark, as its first character
  const auto node = [](size_t matched) { return matched == 0 ? 0 : matched + 1; };
  Grammar::Graph graph;
  graph.nodes = kParameterEnd.size() + 1;
  for (size_t matched = 0; matched < kParameterEnd.size(); ++matched) {
    const auto next = static_cast<char32_t>(kParameterEnd[matched]);
    graph.edges.push_back({node(matched), 1, Grammar::kEmpty});
    graph.edges.push_back({node(matched), node(1), set(begin)});
    graph.edges.push_back({node(matched), node(0), set(Complement({begin[0], {next, next}}))});
    const bool goes_on = matched > 0 && matched + 1 < kParameterEnd.size();
    if (goes_on) graph.edges.push_back({node(matched), node(matched + 1), set({{next, next}})});
  }
  return grammar.Add(std::move(graph));
}

// One of the texts of an enum, if these are all that the schema allows.
inline std::optional<Expression> AddTextOf(const Json& schema, Grammar& grammar) {
  Json values = schema.is_object() ? schema.value("enum", Json()) : Json();
  if (schema.is_object() && schema.contains("const")) values = Json::array({schema["const"]});
  if (!values.is_array() || values.empty()) return std::nullopt;
  std::vector<Expression> texts;
  for (const Json& value : values) {
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (text.find(kParameterEnd) != text.npos) return std::nullopt;
    texts.push_back(grammar.Literal(text));
  }
  return grammar.Add(Grammar::Choice{std::move(texts)});
}

// A schema of `types` alone.
inline std::string SchemaOf(const std::vector<std::string>& types) {
  return types.empty() ? "{}" : AsText(Json{{"type", types}});
}

// `property` as a schema of its own, which can still refer to the definitions beside it.
inline Json AsRoot(const Json& property, const Json& root) {
  Json schema = property;
  for (const char* const name : {"$defs", "definitions"}) {
    if (schema.is_object() && root.contains(name) && !schema.contains(name)) schema[name] = root[name];
  }
  return schema;
}

inline std::vector<std::string> CallGrammar::triggers() const {
  switch (form_) {
    case ToolForm::kLlama3:
      return {"{\"name\":"};
    case ToolForm::kMistral:
      return {std::string(kMistralCalls)};
    case ToolForm::kHarmony:
      return {"<|channel|>commentary to=functions.", "<|start|>assistant to=functions."};
    default:
      return {std::string(kCallBegin)};
  }
}

inline Result<Expression> CallGrammar::AddCall(Grammar& grammar) const {
  std::vector<Expression> calls;
  for (const Tool& tool : tools_.tools) {
    if (!tools_.only.empty() && tool.name != tools_.only) continue;
    SKALD_ASSIGN(auto call, AddCallOf(tool, grammar));
    calls.push_back(call);
  }
  const Expression call = grammar.Add(Grammar::Choice{std::move(calls)});
  if (form_ != ToolForm::kMistral || mistral_arguments_) return call;
  const Expression more = grammar.Add(Grammar::Sequence{{grammar.Literal(", "), call}});
  const bool is_one = !tools_.is_parallel || !tools_.only.empty();
  const Expression others = is_one ? Grammar::kEmpty : grammar.Add(Grammar::Repeat{more});
  return grammar.Add(Grammar::Sequence{{grammar.Literal("["), call, others, grammar.Literal("]")}});
}

inline Result<Expression> CallGrammar::AddAnswer(Grammar& grammar) const {
  SKALD_ASSIGN(const auto call, AddCall(grammar));
  const Expression first = grammar.Add(Grammar::Sequence{{grammar.Literal(triggers()[0]), call}});
  if (!goes_on()) return first;
  const Expression more = grammar.Add(Grammar::Sequence{{grammar.Literal("\n"), first}});
  return grammar.Add(Grammar::Sequence{{first, grammar.Add(Grammar::Repeat{more})}});
}

inline Expression CallGrammar::AddText(const Grammar& answer, Grammar& grammar) const {
  const Expression text = Embed(answer, grammar);
  if (form_ != ToolForm::kHarmony) return text;
  return grammar.Add(Grammar::Sequence{{grammar.Literal("<|channel|>final<|message|>"), text}});
}

inline Result<Expression> CallGrammar::AddCallOf(const Tool& tool, Grammar& grammar) const {
  const auto around = [&](const std::string& before, Expression arguments, std::string_view behind) {
    return grammar.Add(Grammar::Sequence{{grammar.Literal(before), arguments, grammar.Literal(behind)}});
  };
  if (form_ == ToolForm::kQwenCoder) {
    SKALD_ASSIGN(auto parameters, AddParameters(tool, grammar));
    return around("\n<function=" + tool.name + ">\n", parameters, "</function>\n</tool_call>");
  }
  const Json any = {{"type", "object"}};
  const Json& schema = TreeOf(tool.parameters);
  const bool is_any = schema.empty() || loose_.contains(tool.name);
  SKALD_ASSIGN(auto arguments, AddJson(is_any ? any : schema, AsText(any).c_str(), grammar));
  switch (form_) {
    case ToolForm::kLlama3:
      return around(" \"" + tool.name + "\", \"parameters\": ", arguments, "}");
    case ToolForm::kMistral:
      return mistral_arguments_ ? around(tool.name + "[ARGS]", arguments, "")
                                : around("{\"name\": \"" + tool.name + "\", \"arguments\": ", arguments, "}");
    case ToolForm::kHarmony:
      return around(tool.name + " <|constrain|>json<|message|>", arguments, "");
    default:
      return around("\n{\"name\": \"" + tool.name + "\", \"arguments\": ", arguments, "}\n</tool_call>");
  }
}

// <parameter=KEY> value </parameter> in the schema's order.
inline Result<Expression> CallGrammar::AddParameters(const Tool& tool, Grammar& grammar) const {
  std::vector<Expression> all;
  const Json& root = TreeOf(tool.parameters);
  const Json properties = root.is_object() ? root.value("properties", Json::object()) : Json::object();
  const Json required = root.is_object() ? root.value("required", Json::array()) : Json::array();
  for (auto property = properties.begin(); properties.is_object() && property != properties.end(); ++property) {
    if (!IsParameterName(property.key())) continue;
    const std::vector<std::string> types = TypesOf(*property, root);
    Expression value = 0;
    if (KindOf(types) == ParameterKind::kJson) {
      const bool is_any = loose_.contains(tool.name);
      auto json = AddJson(is_any ? Json() : AsRoot(*property, root), SchemaOf(types).c_str(), grammar);
      if (!json) json = AddJson(Json(), "{}", grammar);  // types that there are not
      if (!json) return json;
      value = *json;
    } else {
      const auto text = KindOf(types) == ParameterKind::kText ? AddTextOf(*property, grammar) : std::nullopt;
      value = text ? *text : AddParameterText(grammar);
    }
    const Expression one =
        grammar.Add(Grammar::Sequence{{grammar.Literal("<parameter=" + property.key() + ">\n"), value,
                                       grammar.Literal("\n" + std::string(kParameterEnd) + "\n")}});
    const bool is_required =
        required.is_array() && std::find(required.begin(), required.end(), Json(property.key())) != required.end();
    all.push_back(is_required ? one : grammar.Maybe(one));
  }
  return grammar.Add(Grammar::Sequence{std::move(all)});
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_
