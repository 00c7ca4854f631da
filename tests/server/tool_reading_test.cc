// SPDX-License-Identifier: Apache-2.0
//
// Tools and the choice among them, in the spellings of three APIs.

#include <string>

#include "doctest/doctest.h"
#include "server/api/chat/tool_reading.h"
#include "skald/base/json/json_value_tree.h"

namespace skald::testing {
namespace tool_reading_test {

using serve::ApiError;
using serve::Json;
using serve::JsonReader;
using serve::ParseJson;
using serve::ReadTools;
using serve::ToolSpelling;

// The requests that say the same, and how each API spells a tool and the choice of one.
struct Api {
  ToolSpelling spelling;
  const char *tool, *one, *some, *none, *single;
};
const Api kApis[] = {
    {serve::kChatTools, R"({"type": "function", "function": {"name": "NAME", "parameters": {"type": "object"}}})",
     R"({"type": "function", "function": {"name": "NAME"}})", R"("required")", R"("none")",
     R"("parallel_tool_calls": false)"},
    {serve::kResponseTools, R"({"type": "function", "name": "NAME", "parameters": {"type": "object"}})",
     R"({"type": "function", "name": "NAME"})", R"("required")", R"("none")", R"("parallel_tool_calls": false)"},
    {serve::kAnthropicTools, R"({"name": "NAME", "input_schema": {"type": "object"}})",
     R"({"type": "tool", "name": "NAME"})", R"({"type": "any"})", R"({"type": "none"})",
     R"("tool_choice": {"type": "auto", "disable_parallel_tool_use": true})"},
};

std::string Named(std::string text, const std::string& name) {
  const size_t at = text.find("NAME");
  return at == text.npos ? text : text.replace(at, 4, name);
}

ToolList Read(const Api& api, const std::string& fields) {
  const Json body =
      ParseJson("{\"tools\": [" + Named(api.tool, "sing") + ", " + Named(api.tool, "dance") + "]" + fields + "}");
  JsonReader reader(body);
  ToolList list = ReadTools(reader, api.spelling).list;
  reader.Finish();
  return list;
}

ToolList Choose(const Api& api, const std::string& choice) { return Read(api, ", \"tool_choice\": " + choice); }

TEST_CASE("three APIs say the same of tools") {
  for (const Api& api : kApis) {
    const ToolList list = Read(api, "");
    REQUIRE(list.tools.size() == 2);
    CHECK(list.tools[1].name == "dance");
    CHECK(TreeOf(list.tools[1].parameters) == Json{{"type", "object"}});
    CHECK(list.choice == ToolChoice::kAuto);
    CHECK(list.is_parallel);
    CHECK_FALSE(Read(api, std::string(", ") + api.single).is_parallel);
    CHECK(Choose(api, api.some).choice == ToolChoice::kRequired);
    CHECK(Choose(api, api.some).only.empty());
    CHECK(Choose(api, api.none).choice == ToolChoice::kNone);
    const ToolList one = Choose(api, Named(api.one, "dance"));
    CHECK(one.choice == ToolChoice::kRequired);
    CHECK(one.only == "dance");
  }
}

TEST_CASE("the tool of a response is named as that of a chat completion too") {
  const ToolList one = Choose(kApis[1], R"({"type": "function", "function": {"name": "dance"}})");
  CHECK(one.only == "dance");
  CHECK_THROWS_AS(Choose(kApis[1], R"({"type": "function", "function": {"name": "fly"}})"), ApiError);
}

TEST_CASE("what no API says of tools is refused") {
  for (const Api& api : kApis) {
    CHECK_THROWS_AS(Choose(api, Named(api.one, "fly")), ApiError);
    CHECK_THROWS_AS(Choose(api, "7"), ApiError);
    CHECK_THROWS_AS(Choose(api, R"("sometimes")"), ApiError);
    CHECK_THROWS_AS(Choose(api, R"({"type": "sometimes"})"), ApiError);
    const Json alone = ParseJson(std::string("{\"tool_choice\": ") + api.some + "}");
    JsonReader reader(alone);
    CHECK_THROWS_AS(ReadTools(reader, api.spelling), ApiError);
    for (const std::string& name : {std::string("sing"), std::string("a b"), std::string(200, 'x'), std::string()}) {
      const Json body = ParseJson("{\"tools\": [" + Named(api.tool, "sing") + ", " + Named(api.tool, name) + "]}");
      JsonReader twice(body);
      CHECK_THROWS_AS(ReadTools(twice, api.spelling), ApiError);
    }
  }
}

}  // namespace tool_reading_test
}  // namespace skald::testing
