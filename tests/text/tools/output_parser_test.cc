// SPDX-License-Identifier: Apache-2.0
//
// Answers of models in each of the forms that they write calls and thoughts in, in whatever pieces they come.

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/tools/output_parser.h"

namespace skald::testing {
namespace output_parser_test {

using Kind = OutputPart::Kind;

// A piece of an answer, or a whole call.
struct Part {
  Kind kind;
  std::string text;
  std::string name = {};
  bool operator==(const Part&) const = default;
};

ToolList SomeTools() {
  auto schema = JsonValue::Parse(R"({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})");
  return {.tools = {{"weather", "", std::move(schema).value()}}};
}

// The parts of a text that comes in pieces of the given sizes; parts of a kind that follow each other are one. A call
// without an end has a text that is no JSON.
std::vector<Part> Parse(const OutputReading& reading, std::string_view text, std::minstd_rand* random) {
  const auto parser = MakeOutputParser(reading);
  std::vector<Part> all;
  const auto add = [&](const std::vector<OutputPart>& parts) {
    for (const OutputPart& part : parts) {
      CHECK((!part.text.empty() || part.kind == Kind::kCallEnd));
      if (part.kind == Kind::kToolCall) {
        all.push_back({part.kind, "(open)", part.text});
      } else if (part.kind == Kind::kArguments) {
        all.back().text += part.text;
      } else if (part.kind == Kind::kCallEnd) {
        all.back().text.erase(0, 6);
      } else if (!all.empty() && all.back().kind == part.kind) {
        all.back().text += part.text;
      } else {
        all.push_back({part.kind, part.text});
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
                const std::vector<Part>& expected) {
  INFO(text);
  CHECK(Parse({format, tools, thinks}, text, nullptr) == expected);
  std::minstd_rand random(7);
  for (int round = 0; round < 50; ++round) CHECK(Parse({format, tools, thinks}, text, &random) == expected);
}

const Part kCall = {Kind::kToolCall, R"({"city":"Oslo","days":2})", "weather"};

TEST_CASE("thoughts come apart from text") {
  const OutputFormat format = {ToolForm::kUnknown, "<think>", "</think>"};
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

TEST_CASE("objects of calls may have their members in any order, and arguments as a text") {
  const OutputFormat format = {ToolForm::kHermes};
  CheckParts(format, SomeTools(), false,
             "<tool_call>{\"arguments\": {\"city\": \"Oslo\", \"days\": 2}, \"name\": \"weather\"}</tool_call>",
             {kCall});
  CheckParts(format, SomeTools(), false,
             "<tool_call>[{\"id\": 7, \"name\": \"weather\", \"parameters\": \"{\\\"city\\\": \\\"Oslo\\\", "
             "\\\"days\\\": 2}\"}]</tool_call>",
             {kCall});
}

TEST_CASE("a call that breaks off stays open, and what cannot be part of it is text") {
  const OutputFormat format = {ToolForm::kHermes};
  const std::string begin = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Os";
  CheckParts(format, SomeTools(), false, begin, {{Kind::kToolCall, "(open){\"city\":\"Os", "weather"}});
  CheckParts(format, SomeTools(), false, begin + "lo\"; well",
             {{Kind::kToolCall, "(open){\"city\":\"Oslo\"", "weather"}, {Kind::kText, "; well"}});
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
  CheckParts({ToolForm::kMistralArgs}, SomeTools(), false,
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
