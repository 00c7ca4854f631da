// SPDX-License-Identifier: Apache-2.0
//
// Every form of tool calls, round: a template writes calls as the model was trained on them, its source tells the form,
// the form's filter lets the model write them, and its parser reads them back, in whatever pieces they come.

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/answer_filter.h"
#include "skald/open/tools/output_parser.h"
#include "skald/templates/chat_template.h"
#include "tests/text/tools/form_templates.h"

namespace skald::testing {
namespace forms_test {

using Json = nlohmann::ordered_json;
using Kind = OutputPart::Kind;

const std::vector<std::string> kMarks = {"<tool_call>",
                                         "</tool_call>",
                                         "<function=f>",
                                         "</function>",
                                         "<parameter=s>",
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
                                         "<|tool_call>",
                                         "<tool_call|>",
                                         "<|tool_call_end|>",
                                         "]<|tool_call_end|>",
                                         "<|/tool_call|>",
                                         "</TOOLCALL>",
                                         "<|END_ACTION|>",
                                         "functools[",
                                         ">>>all\n",
                                         "<|tools_suffix|>",
                                         "```",
                                         "<</",
                                         "\"",
                                         "'",
                                         "\\",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         "(",
                                         ")",
                                         ";",
                                         ",",
                                         "=",
                                         ":",
                                         "\xE4\xBD\xA0",
                                         "\xF0\x9F\x98\x80",
                                         "\n",
                                         "\t",
                                         "null",
                                         "True",
                                         "7",
                                         " ",
                                         "word",
                                         "<|\"|",
                                         "</param",
                                         "</arg_",
                                         "\x01"};

bool CanWrite(Texts texts, std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (texts == Texts::kUntagged) return !has("</parameter>") && !has("</arg_value>");
  if (texts == Texts::kGemma) return !has("<|\"|>");
  if (texts == Texts::kAsIs) return !has("',") && !has("')");
  return texts != Texts::kPython || text.find_first_of("'\\\n\t\x01") == text.npos;
}

std::string RandomText(std::minstd_rand& random, Texts texts) {
  for (;;) {
    std::string text;
    for (size_t i = random() % 6; i > 0; --i) text += kMarks[random() % kMarks.size()];
    if (CanWrite(texts, text)) return text;
  }
}

Json RandomValue(std::minstd_rand& random, Texts texts, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int>(random() % 2000) - 1000;
    case 3:
      return static_cast<double>(random() % 1000) / 8 + 0.5;
    case 6: {
      Json list = Json::array();
      for (size_t i = random() % 3; i > 0; --i) list.push_back(RandomValue(random, texts, depth - 1));
      return list;
    }
    case 7: {
      Json object = Json::object();
      for (size_t i = random() % 3; i > 0; --i) {
        const bool is_word = texts == Texts::kGemma;
        object[is_word ? "k" + std::to_string(random() % 9) : RandomText(random, texts)] =
            RandomValue(random, texts, depth - 1);
      }
      return object;
    }
    default:
      return RandomText(random, texts);
  }
}

// Of a tool whose arguments are a text, a number, a choice, a list and any object.
Json Schema() {
  return Json::parse(R"({"type": "object", "properties": {
      "city": {"type": "string"}, "count": {"type": ["integer", "null"]}, "kind": {"enum": ["red", "blue"]},
      "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}},
      "more": {"type": "object"}}, "required": ["city"]})");
}

Json RandomArguments(std::minstd_rand& random, Texts texts) {
  Json arguments = {{"city", RandomText(random, texts)}};
  if (texts == Texts::kAsIs) texts = Texts::kPython;
  if (random() % 2) arguments["count"] = random() % 3 ? Json(static_cast<int>(random() % 100)) : Json();
  if (random() % 2) arguments["kind"] = random() % 2 ? "red" : "blue";
  if (random() % 2) arguments["list"] = Json::array({RandomText(random, texts), 2.5, true});
  if (random() % 2) {
    Json object = Json::object();
    object[texts == Texts::kGemma ? "key" : RandomText(random, texts)] = RandomValue(random, texts, 3);
    arguments["more"] = object;
  }
  return arguments;
}

ToolList Tools() {
  ToolList list;
  list.tools = {{"look", "Looks.", JsonValueOf(Schema())}, {"f-2", "Does nothing.", JsonValue::Object()}};
  return list;
}

struct Call {
  std::string name;
  Json arguments;
  bool operator==(const Call& other) const {
    return name == other.name && nlohmann::json(arguments) == nlohmann::json(other.arguments);
  }
};

struct Answer {
  std::string text, thought;
  std::vector<Call> calls;
};

// A text in pieces, as a parser reads it.
Answer Read(const OutputReading& reading, std::string_view text, std::minstd_rand* random) {
  const auto parser = MakeOutputParser(reading);
  Answer answer;
  std::string arguments;
  const auto add = [&](const std::vector<OutputPart>& parts) {
    for (const OutputPart& part : parts) {
      if (part.kind == Kind::kText) answer.text += part.text;
      if (part.kind == Kind::kReasoning) answer.thought += part.text;
      if (part.kind == Kind::kToolCall) answer.calls.push_back({part.text, {}}), arguments.clear();
      if (part.kind == Kind::kArguments) arguments += part.text;
      if (part.kind == Kind::kCallEnd) answer.calls.back().arguments = Json::parse(arguments);
    }
  };
  while (!text.empty()) {
    const size_t size = random == nullptr ? text.size() : std::min<size_t>(text.size(), 1 + (*random)() % 5);
    add(parser->Push(text.substr(0, size)));
    text.remove_prefix(size);
  }
  add(parser->Finish());
  return answer;
}

// The assistant's part of a chat, with these calls or this text.
std::string Rendered(const FormTemplate& one, const std::vector<Call>& calls, const std::string& text = "") {
  Json message = {{"role", "assistant"}, {"content", text}};
  for (const Call& call : calls) {
    message["tool_calls"].push_back({{"id", "abcdEF123"},
                                     {"type", "function"},
                                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  const Json chat = {{"messages", {{{"role", "user"}, {"content", "Go"}}, message}},
                     {"tools", {{{"type", "function"}, {"function", {{"name", "look"}}}}}}};
  const auto chat_template = ChatTemplate::Parse(SourceOf(one));
  REQUIRE_MESSAGE(chat_template.has_value(), (chat_template ? "" : chat_template.error().message));
  const auto rendered = chat_template->Render(JsonValueOf(chat));
  REQUIRE_MESSAGE(rendered.has_value(), (rendered ? "" : rendered.error().message));
  const std::string& whole = rendered->text();
  const size_t begin = whole.find("<BEGIN>") + 7;
  std::string said = whole.substr(begin, whole.find("<END>") - begin);
  if (one.begins_in_prompt) said.erase(0, 3);
  return said;
}

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

std::unique_ptr<TokenFilter> FilterOf(const OutputFormat& format, ToolChoice choice) {
  AnswerRules rules;
  rules.format = format;
  rules.tools = Tools();
  rules.tools.choice = choice;
  FilterCache cache;
  const auto filter = MakeAnswerFilter(rules, Vocabulary(), cache);
  REQUIRE_MESSAGE(filter.has_value(), (filter ? "" : filter.error().message));
  return (*filter)->Clone().value();
}

// Returns where the filter does not let the text go on.
size_t Write(TokenFilter& filter, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!filter.Accept(static_cast<unsigned char>(text[i]))) return i;
  }
  return text.size();
}

TEST_CASE("the source of a template tells the form that it writes") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    CHECK(NameOf(OutputFormatOf(SourceOf(one)).tools) == NameOf(one.form));
    CHECK(ToolFormNamed(NameOf(one.form)).value() == one.form);
  }
  CHECK(OutputFormatOf("{{ messages[0].content }}").tools == ToolForm::kJson);
  CHECK(OutputFormatOf("{{ tools | tojson }}").tools == ToolForm::kUnknown);
  CHECK_FALSE(ToolFormNamed("what").has_value());
  CHECK(ToolFormNames().size() == FormTemplates().size() + 1);  // "json" has no template
}

TEST_CASE("what a template renders of calls, its form's filter allows and its parser reads back") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    const OutputFormat format = OutputFormatOf(SourceOf(one));
    const auto may = FilterOf(format, ToolChoice::kAuto), must = FilterOf(format, ToolChoice::kRequired);
    const OutputReading reading = {.format = format, .tools = Tools()};
    std::minstd_rand random(5);
    for (int round = 0; round < 120; ++round) {
      std::vector<Call> calls = {{"look", RandomArguments(random, one.texts)}};
      if (!one.is_one && random() % 2) calls.push_back({"look", RandomArguments(random, one.texts)});
      if (!one.is_one && random() % 4 == 0) calls.push_back({"f-2", Json::object()});
      const std::string said = Rendered(one, calls);
      CAPTURE(said);
      for (const auto& start : {std::cref(may), std::cref(must)}) {
        const auto filter = start.get()->Clone().value();
        const std::string_view written = std::string_view(said).substr(said.starts_with(' ') && start.get() == must &&
                                                                       one.form == ToolForm::kFireFunction);
        CHECK(written.substr(Write(*filter, written)) == "");
        CHECK(filter->IsComplete());
      }
      for (int way = 0; way < 4; ++way) {
        const Answer answer = Read(reading, said, way == 0 ? nullptr : &random);
        CHECK(answer.text == "");
        REQUIRE(answer.calls.size() == calls.size());
        for (size_t i = 0; i < calls.size(); ++i) CHECK(answer.calls[i] == calls[i]);
      }
    }
  }
}

TEST_CASE("other ways in which models write a form are allowed and read back") {
  struct Way {
    ToolForm form;
    std::string said;
    Json more;
  };
  const std::vector<Way> ways = {
      {ToolForm::kGlm,
       "<tool_call>look<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>count</arg_key><arg_value>3"
       "</arg_value></tool_call>",
       {{"count", 3}}},
      {ToolForm::kMistral,
       R"([TOOL_CALLS][{"name": "look", "arguments": {"city": "Oslo", "count": 3}, "id": "abcDEF123"}])",
       {{"count", 3}}},
      {ToolForm::kSeed,
       "<seed:tool_call>\n<function=look>\n<parameter=city>Oslo</parameter>\n<parameter=list>[\"it's\", 2.5, True]"
       "</parameter>\n<parameter=more>{'</parameter>': None}</parameter>\n</function>\n</seed:tool_call>",
       {{"list", {"it's", 2.5, true}}, {"more", {{"</parameter>", nullptr}}}}},
      {ToolForm::kQwenCoder,
       "<tool_call>\n<function=look>\n<parameter=city>\nOslo\n</parameter>\n<parameter=list>\n['x', 2.5, True]\n"
       "</parameter>\n</function>\n</tool_call>",
       {{"list", {"x", 2.5, true}}}},
  };
  for (const Way& way : ways) {
    CAPTURE(way.said);
    Json arguments = {{"city", "Oslo"}};
    arguments.update(way.more);
    const OutputFormat format = {.tools = way.form};
    for (const ToolChoice choice : {ToolChoice::kAuto, ToolChoice::kRequired}) {
      CHECK(way.said.substr(Write(*FilterOf(format, choice), way.said)) == "");
    }
    std::minstd_rand random(5);
    for (int round = 0; round < 4; ++round) {
      const Answer answer = Read({.format = format, .tools = Tools()}, way.said, round == 0 ? nullptr : &random);
      REQUIRE(answer.calls.size() == 1);
      CHECK((answer.calls[0] == Call{"look", arguments}));
    }
  }
}

TEST_CASE("texts come back as texts, also those that begin as calls do") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    const OutputReading reading = {.format = OutputFormatOf(SourceOf(one)), .tools = Tools()};
    const std::string call = Rendered(one, {{"look", {{"city", "Oslo"}}}});
    std::minstd_rand random(3);
    for (const std::string& text : {std::string("Well, 2 < 3."), std::string("a\nb {x} [y]"), std::string("Yes")}) {
      const std::string said = Rendered(one, {}, text);
      for (int way = 0; way < 4; ++way) CHECK(Read(reading, said, way == 0 ? nullptr : &random).text == text);
    }
    // A call of a tool that there is not, and a call that breaks off before its tool is known.
    std::string other = call;
    other.replace(other.find("look"), 4, "cook");
    for (int way = 0; way < 4; ++way) {
      const Answer answer = Read(reading, other, way == 0 ? nullptr : &random);
      CHECK(answer.calls.empty());
      CHECK(answer.text.find(one.form == ToolForm::kHarmony ? "Oslo" : "cook") != std::string::npos);
      const Answer broken = Read(reading, call.substr(0, call.find("look") + 2), way == 0 ? nullptr : &random);
      CHECK(broken.calls.empty());
      CHECK((broken.text.ends_with("lo") || one.form == ToolForm::kHarmony));
    }
    // With no tools to call, or none allowed, calls are texts.
    OutputReading none = reading;
    none.tools.choice = ToolChoice::kNone;
    CHECK(Read(none, call, &random).calls.empty());
    CHECK(Read(none, call, &random).text.find("Oslo") != std::string::npos);
  }
}

TEST_CASE("calls behind a text") {
  for (const FormTemplate& one : FormTemplates()) {
    if (one.is_one || one.begins_in_prompt) continue;
    CAPTURE(NameOf(one.form));
    const OutputFormat format = OutputFormatOf(SourceOf(one));
    const std::string said = "Let me see. " + Rendered(one, {{"look", {{"city", "Oslo"}}}});
    const auto filter = FilterOf(format, ToolChoice::kAuto);
    CHECK(said.substr(Write(*filter, said)) == "");
    std::minstd_rand random(3);
    const Answer answer = Read({.format = format, .tools = Tools()}, said, &random);
    CHECK(answer.text.starts_with("Let me see."));
    CHECK(answer.calls.size() == 1);
  }
}

TEST_CASE("a filter holds the arguments of every form to their schema") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    const OutputFormat format = OutputFormatOf(SourceOf(one));
    for (const ToolChoice choice : {ToolChoice::kAuto, ToolChoice::kRequired}) {
      for (const Json& wrong : {Json{{"city", "Oslo"}, {"count", true}}, Json{{"city", "Oslo"}, {"kind", "green"}},
                                Json{{"city", "Oslo"}, {"what", 1}}, Json{{"kind", "red"}}}) {
        std::string said = Rendered(one, {{"look", wrong}});
        if (one.form == ToolForm::kFireFunction) said.erase(0, 1);
        const auto filter = FilterOf(format, choice);
        CAPTURE(said);
        CHECK(Write(*filter, said) < said.size());
      }
      std::string other = Rendered(one, {{"cook", {{"city", "Oslo"}}}});
      if (one.form == ToolForm::kFireFunction) other.erase(0, 1);
      CHECK(Write(*FilterOf(format, choice), other) < other.size());
    }
  }
}

TEST_CASE("arguments come while they are written") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    const std::string said = Rendered(one, {{"look", {{"city", "A city with a long name, which comes in pieces"}}}});
    const auto parser = MakeOutputParser({.format = OutputFormatOf(SourceOf(one)), .tools = Tools()});
    size_t pieces = 0;
    for (const char c : said) {
      for (const OutputPart& part : parser->Push(std::string_view(&c, 1))) pieces += part.kind == Kind::kArguments;
    }
    CHECK(pieces > 20);
  }
}

TEST_CASE("hostile calls cost what they are long") {
  for (const FormTemplate& one : FormTemplates()) {
    CAPTURE(NameOf(one.form));
    const OutputReading reading = {.format = OutputFormatOf(SourceOf(one)), .tools = Tools()};
    const std::string call = Rendered(one, {{"look", {{"city", "Oslo"}, {"more", Json::object()}}}});
    const size_t at = call.find("Oslo");
    std::string deep = call;
    deep.replace(at, 4, std::string(200000, '['));
    std::string many;
    for (int i = 0; i < 5000; ++i) many += call.substr(0, at);
    const size_t more = call.find("{}") != call.npos ? call.find("{}") : at;
    const std::string nested = call.substr(0, more) + std::string(200000, '{');
    for (const std::string& text : {deep, many, nested, call.substr(0, at) + std::string(200000, 'x')}) {
      std::minstd_rand random(3);
      Answer answer;
      CHECK_NOTHROW(answer = Read(reading, text, &random));
    }
  }
}

TEST_CASE("thoughts of every family come apart from texts and calls") {
  struct Thoughts {
    std::string_view source, begin, end;
  };
  for (const Thoughts& one :
       {Thoughts{"<think>", "<think>\n", "\n</think>\n\n"}, Thoughts{"[THINK]", "[THINK]", "[/THINK]"},
        Thoughts{"'<|channel>thought\\n'", "<|channel>thought\n", "<channel|>"},
        Thoughts{"<|START_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"},
        Thoughts{"<seed:think>", "<seed:think>", "</seed:think>"},
        Thoughts{"<|inner_prefix|>", "<|inner_prefix|>", "<|inner_suffix|>"}}) {
    CAPTURE(one.source);
    const OutputReading reading = {.format = OutputFormatOf(one.source)};
    std::minstd_rand random(3);
    for (int way = 0; way < 20; ++way) {
      const Answer answer = Read(reading, std::string(one.begin) + "Hm <ok>" + std::string(one.end) + "Yes",
                                 way == 0 ? nullptr : &random);
      CHECK(answer.text == "Yes");
      CHECK((answer.thought == "Hm <ok>" || answer.thought == "Hm <ok>\n"));
    }
  }
}

}  // namespace forms_test
}  // namespace skald::testing
