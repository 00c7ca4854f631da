// SPDX-License-Identifier: Apache-2.0
//
// The parsers of answers read back everything that filters of calls allow: in every form, with any marks in the
// arguments' texts, and in any pieces.

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/answer_filter.h"
#include "skald/open/tools/output_parser.h"

namespace skald::testing {
namespace answer_filter_test {

using Json = nlohmann::ordered_json;
using Kind = OutputPart::Kind;

constexpr std::array kForms = {ToolForm::kHermes, ToolForm::kQwenCoder, ToolForm::kLlama3, ToolForm::kMistral,
                               ToolForm::kHarmony};
const std::vector<std::string> kMarks = {"<tool_call>",
                                         "</tool_call>",
                                         "<function=f>",
                                         "</function>",
                                         "<parameter=s>",
                                         "</parameter>",
                                         "[TOOL_CALLS]",
                                         "[ARGS]",
                                         "<|python_tag|>",
                                         "<|channel|>",
                                         "<|message|>",
                                         "<|call|>",
                                         "<|end|>",
                                         "<|start|>",
                                         "<think>",
                                         "</think>",
                                         "{\"name\":",
                                         "<</",
                                         "</param",
                                         "\"",
                                         "\\",
                                         "\\\"",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ";",
                                         ",",
                                         "\xE4\xBD\xA0",
                                         "\xF0\x9F\x98\x80",
                                         "\n",
                                         "\t",
                                         "null",
                                         "7",
                                         " ",
                                         "word"};

// Every byte, the marks that models have tokens for, and what ends an answer.
const std::shared_ptr<const TokenVocabulary>& Vocabulary() {
  static const auto vocabulary = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const std::string& mark : kMarks) tokens.push_back(mark);
    tokens.emplace_back();
    return *TokenVocabulary::From(tokens, std::array{static_cast<int32_t>(tokens.size() - 1)});
  }();
  return vocabulary;
}

Json Schema() {
  return Json::parse(R"({"type": "object", "properties": {
      "s": {"type": "string"}, "n": {"type": ["string", "null"]},
      "o": {"anyOf": [{"type": "object"}, {"type": "array"}]},
      "i": {"$ref": "#/$defs/count"}, "e": {"enum": ["red", "blue"]}},
    "required": ["s"], "$defs": {"count": {"type": ["integer", "null"]}}})");
}

AnswerRules RulesOf(ToolForm form, const Json& schema) {
  AnswerRules rules;
  rules.format.tools = form;
  rules.tools.tools = {{"look", "", JsonValueOf(schema)}, {"f.2", "", JsonValue::Object()}};
  return rules;
}

std::unique_ptr<TokenFilter> FilterOf(const AnswerRules& rules) {
  FilterCache cache;
  const auto filter = MakeAnswerFilter(rules, Vocabulary(), cache);
  REQUIRE_MESSAGE(filter.has_value(), (filter ? "" : filter.error().message));
  return (*filter)->Clone().value();
}

std::string RandomText(std::minstd_rand& random, bool may_end_parameter) {
  std::string text;
  for (size_t i = random() % 6; i > 0; --i) {
    const std::string& mark = kMarks[random() % kMarks.size()];
    text += mark == "</parameter>" && !may_end_parameter ? "x" : mark;
  }
  return text.find("</parameter>") != text.npos && !may_end_parameter ? "y" : text;
}

Json RandomArguments(std::minstd_rand& random, bool is_coder) {
  Json arguments = {{"s", RandomText(random, !is_coder)}};
  if (random() % 2) arguments["n"] = random() % 3 ? Json("t" + RandomText(random, !is_coder)) : Json();
  if (random() % 2) {
    Json object = {{RandomText(random, true), {{"a", RandomText(random, true)}}}, {"b", {1, true, Json()}}};
    arguments["o"] = random() % 2 ? object : Json::array({RandomText(random, true), object});
  }
  if (random() % 2) arguments["i"] = random() % 2 ? Json(static_cast<int>(random() % 1000)) : Json();
  if (random() % 2) arguments["e"] = random() % 2 ? "red" : "blue";
  return arguments;
}

// The call as a model would write it.
std::string Spell(ToolForm form, const Json& arguments) {
  const std::string json = arguments.dump();
  switch (form) {
    case ToolForm::kHermes:
      return "<tool_call>\n{\"name\": \"look\", \"arguments\": " + json + "}\n</tool_call>";
    case ToolForm::kLlama3:
      return "{\"name\": \"look\", \"parameters\": " + json + "}";
    case ToolForm::kMistral:
      return "[TOOL_CALLS][{\"name\": \"look\", \"arguments\": " + json + "}]";
    case ToolForm::kHarmony:
      return "<|channel|>commentary to=functions.look <|constrain|>json<|message|>" + json;
    default:
      break;
  }
  std::string text = "<tool_call>\n<function=look>\n";
  for (const auto& [key, value] : arguments.items()) {
    const std::string spelled = value.is_string() ? value.get<std::string>() : value.dump();
    text += "<parameter=" + key + ">\n" + spelled + "\n</parameter>\n";
  }
  return text + "</function>\n</tool_call>";
}

// A piece of an answer, or a call: whole, or its text is empty.
struct Part {
  Kind kind;
  std::string text;
  std::string name = {};
};

std::vector<Part> Parse(const AnswerRules& rules, std::string_view text, std::minstd_rand* random) {
  const auto parser = MakeOutputParser({rules.format, rules.tools, false, rules.schema.has_value()});
  std::vector<Part> all;
  std::string arguments;
  const auto add = [&](const std::vector<OutputPart>& parts) {
    for (const OutputPart& part : parts) {
      if (part.kind == Kind::kToolCall) {
        all.push_back({part.kind, "", part.text});
        arguments.clear();
      } else if (part.kind == Kind::kArguments) {
        arguments += part.text;
      } else if (part.kind == Kind::kCallEnd) {
        all.back().text = arguments;
      } else if (!all.empty() && all.back().kind == part.kind) {
        all.back().text += part.text;
      } else {
        all.push_back({part.kind, part.text});
      }
    }
  };
  while (!text.empty()) {
    const size_t size = random == nullptr ? text.size() : std::min<size_t>(text.size(), 1 + (*random)() % 5);
    add(parser->Push(text.substr(0, size)));
    text.remove_prefix(size);
  }
  add(parser->Finish());
  return all;
}

// Whole and in pieces, a text is just these calls.
void CheckCalls(const AnswerRules& rules, const std::string& text, const std::vector<Json>& arguments) {
  std::minstd_rand random(11);
  for (int round = 0; round < 4; ++round) {
    const auto parts = Parse(rules, text, round == 0 ? nullptr : &random);
    CAPTURE(text);
    REQUIRE(parts.size() == arguments.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      REQUIRE(parts[i].kind == Kind::kToolCall);
      CHECK(parts[i].name == "look");
      CHECK(Json::parse(parts[i].text) == arguments[i]);
    }
  }
}

void Write(TokenFilter& filter, std::string_view text) {
  for (const char c : text) {
    const auto accepted = filter.Accept(static_cast<unsigned char>(c));
    REQUIRE_MESSAGE(accepted.has_value(), (accepted ? "" : accepted.error().message), text);
  }
}

TEST_CASE("calls with any texts in their arguments are written and read back in every form") {
  for (const ToolForm form : kForms) {
    CAPTURE(static_cast<int>(form));
    for (const bool is_must : {false, true}) {
      AnswerRules rules = RulesOf(form, Schema());
      if (is_must) rules.tools.choice = ToolChoice::kRequired;
      const auto start = FilterOf(rules);
      std::minstd_rand random(5);
      for (int round = 0; round < 150; ++round) {
        const Json arguments = RandomArguments(random, form == ToolForm::kQwenCoder);
        const std::string text = Spell(form, arguments);
        const auto filter = start->Clone().value();
        Write(*filter, text);
        CHECK(filter->IsComplete());
        CheckCalls(rules, text, {arguments});
      }
    }
  }
}

TEST_CASE("whatever a filter lets a model write, calls come back as calls") {
  for (const ToolForm form : kForms) {
    AnswerRules rules = RulesOf(form, Schema());
    rules.tools.choice = ToolChoice::kRequired;
    rules.tools.only = "look";
    const auto start = FilterOf(rules);
    std::minstd_rand random(3);
    int calls = 0;
    for (int round = 0; round < 60; ++round) {
      const auto filter = start->Clone().value();
      std::string text;
      // Marks and brackets more often than others, so that strings have them and come to their ends.
      for (int token = 0; token < 3000 && !filter->IsComplete(); ++token) {
        const auto allowed = *filter->Allowed();
        std::vector<int32_t> ids, marks;
        for (int32_t id = 0; static_cast<size_t>(id) < Vocabulary()->size(); ++id) {
          if (!IsAllowed(allowed, id)) continue;
          (id >= 256 || id == '"' || id == '}' || id == ']' || id == '<' || id == '/' ? marks : ids).push_back(id);
        }
        const bool takes_mark = ids.empty() || (!marks.empty() && random() % 3 != 0);
        const std::vector<int32_t>& from = takes_mark ? marks : ids;
        const int32_t id = from[random() % from.size()];
        REQUIRE(filter->Accept(id));
        text += Vocabulary()->BytesOf(id);
      }
      if (!filter->IsComplete()) continue;
      ++calls;
      std::minstd_rand pieces(7);
      for (auto* const way : {static_cast<std::minstd_rand*>(nullptr), &pieces}) {
        const auto parts = Parse(rules, text, way);
        CAPTURE(text);
        REQUIRE(parts.size() == 1);
        CHECK(parts[0].kind == Kind::kToolCall);
        CHECK(parts[0].name == "look");
        CHECK(Json::parse(parts[0].text)["s"].is_string());
      }
    }
    CHECK(calls > 20);
  }
}

TEST_CASE("with a schema an answer is calls or a text that fits, and marks within the text are text") {
  for (const ToolForm form : kForms) {
    CAPTURE(static_cast<int>(form));
    AnswerRules rules = RulesOf(form, Schema());
    rules.schema = R"({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})";
    const auto start = FilterOf(rules);
    const std::string before = form == ToolForm::kHarmony ? "<|channel|>final<|message|>" : "";
    std::minstd_rand random(9);
    for (int round = 0; round < 30; ++round) {
      const Json arguments = RandomArguments(random, form == ToolForm::kQwenCoder);
      const auto caller = start->Clone().value();
      Write(*caller, Spell(form, arguments));
      CHECK(caller->IsComplete());
      CheckCalls(rules, Spell(form, arguments), {arguments});
      if (form == ToolForm::kHarmony) continue;  // marks divide its answers, whatever they are
      const Json answer = {{"a", RandomText(random, true) + Spell(ToolForm::kHermes, {{"s", "x"}})}};
      const auto writer = start->Clone().value();
      Write(*writer, before + answer.dump());
      CHECK(writer->IsComplete());
      const auto parts = Parse(rules, before + answer.dump(), &random);
      REQUIRE(parts.size() == 1);
      CHECK(parts[0].kind == Kind::kText);
      CHECK(parts[0].text == answer.dump());
    }
    const auto prose = start->Clone().value();
    CHECK_FALSE(prose->Accept('W'));
    if (form == ToolForm::kHarmony) Write(*start->Clone().value(), before + "{\"a\":\"b\"}");
  }
  AnswerRules rules = RulesOf(ToolForm::kHermes, Schema());
  rules.schema = "";
  rules.tools.choice = ToolChoice::kRequired;
  CHECK_FALSE(FilterOf(rules)->Accept('{'));
}

TEST_CASE("a thought leaves room for what must come behind it") {
  AnswerRules rules = RulesOf(ToolForm::kHermes, Schema());
  rules.format.think_begin = "<think>";
  rules.format.think_end = "</think>";
  rules.begins_thinking = true;
  for (const bool is_call : {false, true}) {
    if (is_call) rules.tools.choice = ToolChoice::kRequired;
    if (!is_call) rules.schema = R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})";
    for (const uint32_t most : {1u, 90u, 120u, 1000u}) {
      rules.max_tokens = most;
      const auto filter = FilterOf(rules);
      uint32_t thought = 0;
      while (IsAllowed(*filter->Allowed(), 'x') && thought <= most) {
        REQUIRE(filter->Accept('x'));
        ++thought;
      }
      CHECK(thought < most);
      CHECK(thought >= most / 2 - std::min(most / 2, 80u));
      Write(*filter, "</think>\n\n");
      CHECK_FALSE(filter->Accept('x'));
    }
    // It may end before, with what follows in the same token.
    rules.max_tokens = 1000;
    const auto filter = FilterOf(rules);
    Write(*filter, "hm</think>\n");
    CHECK_FALSE(filter->Accept('x'));
    CHECK_FALSE(filter->IsComplete());
    rules.schema.reset();
  }
}

TEST_CASE("calls begin where the parser reads them, and nowhere else") {
  AnswerRules llama = RulesOf(ToolForm::kLlama3, Schema());
  const auto filter = FilterOf(llama);
  Write(*filter, "Try {\"name\": 7} or {\"name\":x");
  AnswerRules thinks = RulesOf(ToolForm::kHermes, Schema());
  thinks.format.think_begin = "<think>";
  thinks.format.think_end = "</think>";
  for (const bool begins : {false, true}) {
    thinks.begins_thinking = begins;
    const auto thinker = FilterOf(thinks);
    Write(*thinker, begins ? "a <tool_call> b" : "\n<think>a <tool_call> b");
    Write(*thinker, "</think>see: <tool_call>\n{\"name\": \"look\"");
    CHECK_FALSE(thinker->Accept('x'));
  }
}

TEST_CASE("schemas of parameters that are no single type") {
  for (const char* const schema :
       {R"({"type": "object", "properties": {"x": {"type": ["string", "null"]}}})", R"({"properties": [1]})",
        R"({"type": "object", "properties": {"x": {"type": "integer"}}, "required": "x"})",
        R"({"type": "object", "properties": {"x": {"type": ["integer", "null"]}, "y": {"type": 3}, "z": true}})",
        R"({"type": "object", "properties": {"x": {"type": "what"}, "a>b": {"type": "null"}}})",
        R"({"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}})",
        R"({"type": "object", "properties": {"x": {"type": "object", "patternProperties": {}}}})"}) {
    for (const ToolForm form : kForms) FilterOf(RulesOf(form, Json::parse(schema)));
  }
}

TEST_CASE("a schema that is too large is that of any object, and the other tools keep theirs") {
  Json large = Json::parse(R"({"type": "object", "properties": {"x": {"type": "string", "pattern": "^$"}}})");
  std::string pattern = "^";
  for (int i = 0; i < 40; ++i) pattern += "(a|ab){0,9000}";
  large["properties"]["x"]["pattern"] = pattern + "$";
  AnswerRules rules = RulesOf(ToolForm::kHermes, large);
  rules.tools.tools[1].parameters =
      JsonValue::Parse(R"({"type": "object", "properties": {"i": {"type": "integer"}}, "required": ["i"]})").value();
  const auto filter = FilterOf(rules);
  Write(*filter->Clone().value(), "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"q\": [1]}}\n</tool_call>");
  Write(*filter, "<tool_call>\n{\"name\": \"f.2\", \"arguments\": {\"i\": ");
  CHECK_FALSE(filter->Accept('"'));
}

}  // namespace answer_filter_test
}  // namespace skald::testing
