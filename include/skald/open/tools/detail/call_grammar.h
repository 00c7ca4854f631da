// SPDX-License-Identifier: Apache-2.0
//
// CallGrammar: how calls of some tools are written, as a grammar, in the form that the model was trained on. All that
// it allows the parser of that form reads back.

#ifndef SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_
#define SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_value_tree.h"
#include "skald/base/result.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/text_without.h"
#include "skald/constraints/json_schema.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/parameters.h"
#include "skald/open/tools/calls/detail/value_reader.h"
#include "skald/open/tools/calls/forms/detail/call_forms.h"
#include "skald/open/tools/output_format.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

class CallGrammar {
 public:
  // `tools` must outlive this.
  CallGrammar(const OutputFormat& format, const ToolList& tools)
      : form_(FindForm(format.tools)), is_harmony_(format.tools == ToolForm::kHarmony), tools_(tools) {
    if (form_ == nullptr && !is_harmony_) form_ = FindForm(ToolForm::kJson);
  }

  // The texts that begin a call where the model may write any text.
  std::vector<std::string> triggers() const;
  // The texts that begin a call only as the beginning of an answer.
  std::vector<std::string> first_triggers() const;
  // Whether text or another call may come after what AddCall adds.
  bool goes_on() const { return !is_one() && !is_harmony_ && form_->several == Several::kApart; }
  // The marks that may come before all of them at the beginning of an answer.
  std::vector<std::string> first_marks() const;
  // The beginning of a text if a prompt has the mark of calls; empty: prompts have none.
  std::string_view text_begin() const;

  // These tools' arguments may be any object, whatever their schemas say.
  void Loosen(std::set<std::string> names) { loose_ = std::move(names); }

  // Adds a call, or all that are between the same marks, after the text that triggers it.
  Result<Grammar::Expression> AddCall(Grammar& grammar) const;
  // Adds calls that are a whole answer: the first with the text that triggers it, then others if the form has them.
  Result<Grammar::Expression> AddAnswer(Grammar& grammar) const;
  // Adds `answer`, a grammar of its own, as this form writes a final answer.
  Grammar::Expression AddText(const Grammar& answer, Grammar& grammar) const;

 private:
  // Whether an answer has one call at most.
  bool is_one() const { return !tools_.is_parallel || !tools_.only.empty(); }

  Grammar::Expression AddMark(std::string_view text, Grammar& grammar) const;
  Result<Grammar::Expression> AddCallOf(const Tool& tool, Grammar& grammar) const;
  Result<Grammar::Expression> AddArguments(const Tool& tool, Grammar& grammar) const;
  Result<Grammar::Expression> AddTaggedArguments(const Tool& tool, Grammar& grammar) const;
  Result<Grammar::Expression> AddTagged(const Tool& tool, const nlohmann::ordered_json& property,
                                        Grammar& grammar) const;

  const CallForm* form_;  // null: Harmony
  bool is_harmony_;
  const ToolList& tools_;
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
inline Result<Expression> AddValue(const Json& schema, const char* other, ValueNotation notation, Grammar& grammar) {
  auto part = ParseJsonSchema(AsText(schema), notation);
  if (!part) part = ParseJsonSchema(other, notation);
  if (!part) return Failure(part.error());
  return Embed(*part, grammar);
}

// Adds a number (%d), an id of nine letters and digits (%w) or of any length (%i), or the name of a type (%t).
inline Expression AddRepresented(char mark, Grammar& grammar) {
  constexpr size_t kMostDigits = 4, kIdLength = 9, kMostIdLength = 32;
  if (mark == 't') {
    std::vector<Expression> types;
    for (const char* const type : {"number", "boolean", "object", "array", "null"}) {
      types.push_back(grammar.Literal(type));
    }
    return grammar.Add(Grammar::Choice{std::move(types)});
  }
  CharacterRanges set = {{'0', '9'}};
  if (mark != 'd') set = {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
  const Expression one = grammar.Add(Grammar::Characters{std::move(set)});
  const size_t least = mark == 'w' ? kIdLength : 1;
  const size_t most = mark == 'w' ? kIdLength : mark == 'i' ? kMostIdLength : kMostDigits;
  return grammar.Add(Grammar::Repeat{one, least, most});
}

// A text of a form with what its marks represent.
inline Expression AddLiteral(std::string_view text, Grammar& grammar) {
  std::vector<Expression> parts;
  while (!text.empty()) {
    const size_t mark = std::min(text.find('%'), text.size());
    parts.push_back(grammar.Literal(text.substr(0, mark)));
    text.remove_prefix(mark);
    if (text.empty()) break;
    parts.push_back(AddRepresented(text[1], grammar));
    text.remove_prefix(2);
  }
  return grammar.Add(Grammar::Sequence{std::move(parts)});
}

// One of the texts of an enum, if these are all that the schema allows.
inline std::optional<Expression> AddTextOf(const Json& schema, std::string_view value_end, Grammar& grammar) {
  Json values = schema.is_object() ? schema.value("enum", Json()) : Json();
  if (schema.is_object() && schema.contains("const")) values = Json::array({schema["const"]});
  if (!values.is_array() || values.empty()) return std::nullopt;
  std::vector<Expression> texts;
  for (const Json& value : values) {
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (text.find(value_end) != text.npos) return std::nullopt;
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
  if (is_harmony_) return {"<|channel|>commentary to=functions.", "<|start|>assistant to=functions."};
  if (form_->begins_answer) return {};
  return {std::string(form_->begin)};
}

inline std::vector<std::string> CallGrammar::first_triggers() const {
  if (is_harmony_) return {" to=functions."};
  if (form_->begins_answer) return {std::string(form_->trigger)};
  return {};
}

inline std::vector<std::string> CallGrammar::first_marks() const {
  std::vector<std::string> marks;
  for (const std::string_view mark : form_ == nullptr ? decltype(form_->no_text){} : form_->no_text) {
    if (!mark.empty()) marks.emplace_back(mark);
  }
  return marks;
}

inline std::string_view CallGrammar::text_begin() const {
  if (is_harmony_ || !form_->begins_in_prompt) return {};
  return form_->no_text[0].substr(form_->begin.size());
}

// A text of the form, without its line breaks too if the form may lack them.
inline Expression CallGrammar::AddMark(std::string_view text, Grammar& grammar) const {
  if (!form_->may_lack_lines) return AddLiteral(text, grammar);
  std::vector<Expression> parts;
  while (!text.empty()) {
    const size_t line = std::min(text.find('\n'), text.size());
    parts.push_back(AddLiteral(text.substr(0, line), grammar));
    if (line < text.size()) parts.push_back(grammar.Maybe(grammar.Literal("\n")));
    text.remove_prefix(std::min(line + 1, text.size()));
  }
  return grammar.Add(Grammar::Sequence{std::move(parts)});
}

inline Result<Expression> CallGrammar::AddCall(Grammar& grammar) const {
  std::vector<Expression> calls;
  for (const Tool& tool : tools_.tools) {
    if (!tools_.only.empty() && tool.name != tools_.only) continue;
    SKALD_ASSIGN(auto call, AddCallOf(tool, grammar));
    calls.push_back(call);
  }
  const Expression call = grammar.Add(Grammar::Choice{std::move(calls)});
  if (is_harmony_) return call;
  const Expression more = grammar.Add(Grammar::Sequence{{AddMark(form_->between, grammar), call}});
  const bool has_more = form_->several == Several::kTogether && !is_one();
  const Expression others = has_more ? grammar.Add(Grammar::Repeat{more}) : Grammar::kEmpty;
  return grammar.Add(Grammar::Sequence{
      {AddMark(form_->open, grammar), call, others, AddMark(form_->close, grammar), AddMark(form_->end, grammar)}});
}

inline Result<Expression> CallGrammar::AddAnswer(Grammar& grammar) const {
  SKALD_ASSIGN(const auto call, AddCall(grammar));
  const auto triggered = [&](const std::string& trigger) {
    return grammar.Add(Grammar::Sequence{{grammar.Literal(trigger), call}});
  };
  if (is_harmony_) return grammar.Add(Grammar::Choice{{triggered(triggers()[0]), triggered(first_triggers()[0])}});
  const Expression next = triggered(form_->begins_answer ? first_triggers()[0] : triggers()[0]);
  const Expression first = form_->begins_in_prompt ? call : next;
  if (!goes_on()) return first;
  const Expression more = grammar.Add(Grammar::Sequence{{AddMark(form_->apart_by, grammar), next}});
  return grammar.Add(Grammar::Sequence{{first, grammar.Add(Grammar::Repeat{more})}});
}

inline Expression CallGrammar::AddText(const Grammar& answer, Grammar& grammar) const {
  const Expression text = Embed(answer, grammar);
  if (is_harmony_) return grammar.Add(Grammar::Sequence{{grammar.Literal("<|channel|>final<|message|>"), text}});
  return grammar.Add(Grammar::Sequence{{grammar.Literal(text_begin()), text}});
}

inline Result<Expression> CallGrammar::AddCallOf(const Tool& tool, Grammar& grammar) const {
  SKALD_ASSIGN(const auto arguments, AddArguments(tool, grammar));
  const Expression name = grammar.Literal(tool.name);
  if (is_harmony_) {
    // The channel comes before the recipient or after it.
    const Expression head = grammar.Add(
        Grammar::Choice{{grammar.Literal(" <|constrain|>json"), grammar.Literal("<|channel|>commentary json"),
                         grammar.Literal("<|channel|>commentary <|constrain|>json")}});
    return grammar.Add(Grammar::Sequence{{name, head, grammar.Literal("<|message|>"), arguments}});
  }
  // The trigger of a filter may reach into the call.
  std::string_view before = form_->call_begin;
  if (form_->begins_answer) before.remove_prefix(form_->trigger.size() - form_->begin.size());
  Expression end = AddMark(form_->call_end, grammar);
  if (!form_->or_call_end.empty()) end = grammar.Add(Grammar::Choice{{end, AddMark(form_->or_call_end, grammar)}});
  return grammar.Add(
      Grammar::Sequence{{AddMark(before, grammar), name, AddMark(form_->name_end, grammar), arguments, end}});
}

inline Result<Expression> CallGrammar::AddArguments(const Tool& tool, Grammar& grammar) const {
  const Notation notation = is_harmony_ ? Notation::kJson : form_->notation;
  if (notation == Notation::kTags) return AddTaggedArguments(tool, grammar);
  const Json any = {{"type", "object"}};
  const Json& schema = TreeOf(tool.parameters);
  const bool is_any = schema.empty() || loose_.contains(tool.name);
  return AddValue(is_any ? any : schema, AsText(any).c_str(), WrittenAs(notation), grammar);
}

// A value with the marks around it: a text, one of JSON, or either where the marks tell them apart.
inline Result<Expression> CallGrammar::AddTagged(const Tool& tool, const Json& property, Grammar& grammar) const {
  const ArgumentTags& tags = form_->tags;
  const Json& root = TreeOf(tool.parameters);
  const ValueNotation notation = tags.values == Notation::kPython ? ValueNotation::kPython : ValueNotation::kJson;
  std::vector<std::string> types = TypesOf(property, root);
  const ParameterKind kind = KindOf(types);
  const auto marked = [&](std::string_view begin, Expression value) {
    return grammar.Add(Grammar::Sequence{{AddMark(begin, grammar), value, AddMark(tags.value_end, grammar)}});
  };
  std::vector<Expression> ways;
  if (kind != ParameterKind::kJson) {
    const std::string_view end = Trimmed(tags.value_end);
    const auto text = kind == ParameterKind::kText ? AddTextOf(property, end, grammar) : std::nullopt;
    // Up to where the mark's first character comes again, which no text may have either.
    const std::string_view without = end.substr(0, end.find(end[0], 1));
    ways.push_back(marked(tags.text_begin.empty() ? tags.value_begin : tags.text_begin,
                          text ? *text : AddTextWithout(without, grammar)));
    std::erase(types, "string");
  }
  const bool is_either = kind == ParameterKind::kEither && !tags.text_begin.empty();
  if (kind == ParameterKind::kJson || is_either) {
    const Json schema = loose_.contains(tool.name) || is_either ? Json() : AsRoot(property, root);
    auto json = AddValue(schema, SchemaOf(types).c_str(), notation, grammar);
    if (!json) json = AddValue(Json(), "{}", notation, grammar);  // types that there are not
    if (!json) return json;
    ways.push_back(marked(tags.value_begin, *json));
  }
  return grammar.Add(Grammar::Choice{std::move(ways)});
}

// Each argument between its tags, in the schema's order.
inline Result<Expression> CallGrammar::AddTaggedArguments(const Tool& tool, Grammar& grammar) const {
  const ArgumentTags& tags = form_->tags;
  std::vector<Expression> all;
  const Json& root = TreeOf(tool.parameters);
  const Json properties = root.is_object() ? root.value("properties", Json::object()) : Json::object();
  const Json required = root.is_object() ? root.value("required", Json::array()) : Json::array();
  for (auto property = properties.begin(); properties.is_object() && property != properties.end(); ++property) {
    if (!IsParameterName(property.key(), tags.key_end)) continue;
    SKALD_ASSIGN(const auto value, AddTagged(tool, *property, grammar));
    const Expression one = grammar.Add(Grammar::Sequence{
        {AddMark(tags.key_begin, grammar), grammar.Literal(property.key()), AddMark(tags.key_end, grammar), value}});
    const bool is_required =
        required.is_array() && std::find(required.begin(), required.end(), Json(property.key())) != required.end();
    all.push_back(is_required ? one : grammar.Maybe(one));
  }
  return grammar.Add(Grammar::Sequence{std::move(all)});
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_CALL_GRAMMAR_H_
