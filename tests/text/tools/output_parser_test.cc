// SPDX-License-Identifier: Apache-2.0
//
// Answers of models in each of the forms that they write calls and thoughts in, in whatever pieces they come.

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/tools/output_parser.h"

namespace skald {

bool operator==(const OutputPart& a, const OutputPart& b) {
  return a.kind == b.kind && a.text == b.text && a.name == b.name;
}

}  // namespace skald

namespace skald::testing {
namespace output_parser_test {

using Kind = OutputPart::Kind;

ToolList SomeTools() {
  auto schema = JsonValue::Parse(R"({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})");
  return {.tools = {{"weather", "", std::move(schema).value()}}};
}

// The parts of a text that comes in pieces of the given sizes; parts of a kind that follow each other are one.
std::vector<OutputPart> Parse(const OutputFormat& format, const ToolList& tools, bool thinks, std::string_view text,
                              std::minstd_rand* random) {
  const auto parser = MakeOutputParser({format, tools, thinks});
  std::vector<OutputPart> all;
  const auto add = [&](std::vector<OutputPart> parts) {
    for (OutputPart& part : parts) {
      CHECK((!part.text.empty() || part.kind == Kind::kToolCall));
      if (!all.empty() && all.back().kind == part.kind && part.kind != Kind::kToolCall) {
        all.back().text += part.text;
      } else {
        all.push_back(std::move(part));
      }
    }
  };
  while (!text.empty()) {
    const size_t size = random == nullptr ? text.size() : std::min<size_t>(text.size(), 1 + (*random)() % 7);
    add(parser->Push(text.substr(0, size)));
    text.remove_prefix(size);
  }
  add(parser->Finish());
  return all;
}

void CheckParts(const OutputFormat& format, const ToolList& tools, bool thinks, std::string_view text,
                const std::vector<OutputPart>& expected) {
  INFO(text);
  CHECK(Parse(format, tools, thinks, text, nullptr) == expected);
  std::minstd_rand random(7);
  for (int round = 0; round < 50; ++round) CHECK(Parse(format, tools, thinks, text, &random) == expected);
}

const OutputPart kCall = {Kind::kToolCall, R"({"city":"Oslo","days":2})", "weather"};

TEST_CASE("thoughts come apart from text") {
  const OutputFormat format = {ToolForm::kNone, "<think>", "</think>"};
  CheckParts(format, {}, false, "<think>\nwell\n</think>\n\nyes", {{Kind::kReasoning, "well\n"}, {Kind::kText, "yes"}});
  CheckParts(format, {}, true, "\nwell</think>yes", {{Kind::kReasoning, "well"}, {Kind::kText, "yes"}});
  CheckParts(format, {}, true, "never ends", {{Kind::kReasoning, "never ends"}});
  CheckParts(format, {}, false, "a <think> b </think>", {{Kind::kText, "a <think> b </think>"}});
  CheckParts({}, {}, false, " <think>a</think>", {{Kind::kText, " <think>a</think>"}});
}

TEST_CASE("calls between tags") {
  const OutputFormat format = {ToolForm::kHermes, "<think>", "</think>"};
  const std::string call =
      "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_call>";
  CheckParts(format, SomeTools(), false, call, {kCall});
  CheckParts(format, SomeTools(), true, "hm</think>\n" + call + "\n" + call, {{Kind::kReasoning, "hm"}, kCall, kCall});
  CheckParts(format, SomeTools(), false, "Let me see. " + call, {{Kind::kText, "Let me see. "}, kCall});
  CheckParts(format, SomeTools(), false, "<tool_call>{\"name\": 3}</tool_call>",
             {{Kind::kText, "<tool_call>{\"name\": 3}</tool_call>"}});
  ToolList none = SomeTools();
  none.choice = ToolChoice::kNone;
  CheckParts(format, none, false, call, {{Kind::kText, call}});
}

TEST_CASE("calls with parameters between tags have the types of their schema") {
  CheckParts(
      {ToolForm::kQwenCoder}, SomeTools(), false,
      "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
      "</function>\n</tool_call>",
      {kCall});
}

TEST_CASE("answers that are calls") {
  const std::string call = "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}";
  CheckParts({ToolForm::kLlama3}, SomeTools(), false, call, {kCall});
  CheckParts({ToolForm::kLlama3}, SomeTools(), false, "<|python_tag|>" + call + "; " + call, {kCall, kCall});
  CheckParts({ToolForm::kLlama3}, SomeTools(), false, "{\"a\": 1}", {{Kind::kText, "{\"a\": 1}"}});
  CheckParts({ToolForm::kLlama3}, SomeTools(), false, "It is {x}", {{Kind::kText, "It is {x}"}});
}

TEST_CASE("calls behind a mark") {
  CheckParts({ToolForm::kMistral}, SomeTools(), false,
             "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}]", {kCall});
  CheckParts({ToolForm::kMistral}, SomeTools(), false,
             "Well.[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\", \"days\": 2}[TOOL_CALLS]weather{\"city\": \"Oslo\", "
             "\"days\": 2}",
             {{Kind::kText, "Well."}, kCall, kCall});
}

TEST_CASE("messages with channels") {
  CheckParts({ToolForm::kHarmony}, SomeTools(), false,
             "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
             "<|constrain|>json<|message|>{\"city\":\"Oslo\",\"days\":2}",
             {{Kind::kReasoning, "hm"}, kCall});
  CheckParts({ToolForm::kHarmony}, {}, false, "<|channel|>final<|message|>yes", {{Kind::kText, "yes"}});
}

}  // namespace output_parser_test
}  // namespace skald::testing
