// SPDX-License-Identifier: Apache-2.0
//
// Published chat templates: each tells its form, and the calls that it renders are read back. The templates lie outside
// of the repository, in the folder SKALD_TEXT_GOLDENS of the build.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/output_parser.h"
#include "skald/templates/chat_template.h"
#include "tests/text/test_tokenizers.h"

namespace skald::testing {
namespace published_forms_test {

using Json = nlohmann::ordered_json;
using Kind = OutputPart::Kind;

const std::map<std::string, ToolForm> kForms = {{"apertus", ToolForm::kApertus},
                                                {"command-r-plus-tool_use", ToolForm::kCommandR},
                                                {"command-r7b-tool_use", ToolForm::kCommandR7b},
                                                {"firefunction-v2", ToolForm::kFireFunction},
                                                {"functionary-v3.1", ToolForm::kFunctionary},
                                                {"functionary-v3.2", ToolForm::kRecipients},
                                                {"gemma-2", ToolForm::kJson},
                                                {"gemma-4", ToolForm::kGemma4},
                                                {"glm-4.6", ToolForm::kGlm},
                                                {"gpt-oss", ToolForm::kHarmony},
                                                {"hermes-2-pro-tool_use", ToolForm::kHermes},
                                                {"kimi-k2", ToolForm::kKimiK2},
                                                {"lfm2", ToolForm::kLfm2},
                                                {"llama-3.1", ToolForm::kLlama3},
                                                {"llama-3.2", ToolForm::kLlama3},
                                                {"llama-cpp-deepseek-r1", ToolForm::kDeepSeekV3},
                                                {"ministral-3-reasoning", ToolForm::kMistralArgs},
                                                {"mistral-nemo", ToolForm::kMistral},
                                                {"mistral-small-3.2", ToolForm::kMistralIds},
                                                {"nemotron-3-nano", ToolForm::kQwenCoder},
                                                {"phi-3.5-mini", ToolForm::kJson},
                                                {"qwen2.5", ToolForm::kHermes},
                                                {"qwen3", ToolForm::kHermes},
                                                {"qwen3-coder", ToolForm::kQwenCoder},
                                                {"qwen3.5", ToolForm::kQwenCoder},
                                                {"seed-oss", ToolForm::kSeed},
                                                {"smollm3", ToolForm::kJson}};
// Those that write no calls, or not of such tools.
const std::vector<std::string> kSilent = {"lfm2", "command-r-plus-tool_use", "llama-cpp-deepseek-r1"};

Json Tools() {
  return Json::parse(R"([{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.",
      "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                     "required": ["city"]}}}])");
}

std::optional<std::string> Rendered(const ChatTemplate& chat_template, const Json& variables, const Json& messages,
                                    bool is_prompt) {
  Json all = variables;
  all["messages"] = messages;
  all["tools"] = Tools();
  all["functions"] = Tools().dump();
  all["datetime"] = "2025-01-01";
  all["add_generation_prompt"] = is_prompt;
  const auto text = chat_template.Render(JsonValueOf(all), RenderOptionsNow());
  return text ? std::optional(text->text()) : std::nullopt;
}

TEST_CASE("published templates tell their forms, and their calls are read back") {
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (folder.empty()) {
    MESSAGE("SKIPPED: no folder SKALD_TEXT_GOLDENS with published templates");
    return;
  }
  const Json recorded = Json::parse(ReadBytes(folder / "templates/cases.json"));
  size_t count = 0;
  for (const Json& known : recorded["templates"]) {
    const std::string name = known["name"];
    CAPTURE(name);
    const auto form = kForms.find(name);
    if (form == kForms.end()) continue;
    const auto source = ReadBytes(folder / "templates" / known["file"].get<std::string>());
    const auto chat_template = ChatTemplate::Parse(source);
    REQUIRE(chat_template.has_value());
    const OutputFormat format = OutputFormatOf(source);
    CHECK(NameOf(format.tools) == NameOf(form->second));
    if (format.tools == ToolForm::kJson || std::ranges::find(kSilent, name) != kSilent.end()) continue;
    const Json arguments = {{"city", "Z\u00FCrich \"1\"\n{x}"}, {"days", 2}};
    Json messages = Json::array({{{"role", "user"}, {"content", "Go"}}});
    const auto prompt = Rendered(*chat_template, known["vars"], messages, true);
    REQUIRE(prompt.has_value());
    std::optional<std::string> whole;
    for (const bool as_text : {false, true}) {
      if (whole) continue;
      Json call = {{"id", "abcdefgh1"}, {"type", "function"}, {"function", {{"name", "get_weather"}}}};
      call["function"]["arguments"] = as_text ? Json(arguments.dump()) : arguments;
      Json all = messages;
      all.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}});
      whole = Rendered(*chat_template, known["vars"], all, false);
    }
    REQUIRE(whole.has_value());
    const size_t same =
        std::min(prompt->size(), static_cast<size_t>(std::ranges::mismatch(*prompt, *whole).in1 - prompt->begin()));
    const std::string said = whole->substr(same);
    CAPTURE(said);
    ToolList tools;
    tools.tools = {{"get_weather", "", JsonValueOf(Tools()[0]["function"]["parameters"])}};
    for (const size_t size : {size_t{1}, size_t{7}, said.size()}) {
      const auto parser = MakeOutputParser({.format = format, .tools = tools});
      std::string tool, json;
      bool is_whole = false;
      const auto add = [&](const std::vector<OutputPart>& parts) {
        for (const OutputPart& part : parts) {
          if (part.kind == Kind::kToolCall) tool = part.text;
          if (part.kind == Kind::kArguments) json += part.text;
          is_whole |= part.kind == Kind::kCallEnd;
        }
      };
      for (size_t at = 0; at < said.size(); at += size) add(parser->Push(std::string_view(said).substr(at, size)));
      add(parser->Finish());
      CHECK(tool == "get_weather");
      REQUIRE(is_whole);
      CHECK(nlohmann::json::parse(json) == nlohmann::json(arguments));
    }
    ++count;
  }
  MESSAGE(count, " templates");
  CHECK(count > 15);
}

}  // namespace published_forms_test
}  // namespace skald::testing
