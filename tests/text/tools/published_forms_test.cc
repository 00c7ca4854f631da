// SPDX-License-Identifier: Apache-2.0
//
// Published chat templates: each tells its form, and the calls that it renders are let through by the form's filter and
// read back by its parser. The templates lie outside of the repository: in the folder SKALD_TEXT_GOLDENS of the build,
// and as *.jinja in the folder that the environment variable SKALD_CHAT_TEMPLATES names.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/chat.h"
#include "skald/open/tools/answer_filter.h"
#include "skald/open/tools/output_parser.h"
#include "tests/text/test_tokenizers.h"

namespace skald::testing {
namespace published_forms_test {

using Json = nlohmann::ordered_json;
using Kind = OutputPart::Kind;

const std::map<std::string, ToolForm> kForms = {{"apertus", ToolForm::kApertus},
                                                {"command-r-plus-tool_use", ToolForm::kCommandR},
                                                {"command-r7b-tool_use", ToolForm::kCommandR7b},
                                                {"deepseek-r1-distill-llama", ToolForm::kDeepSeekV3},
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

// Templates that fail with tools, in transformers too.
const std::vector<std::string> kBroken = {"llama-cpp-deepseek-r1"};

Json Tools() {
  return Json::parse(R"([
      {"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.",
       "parameters": {"type": "object", "required": ["city"], "properties": {
           "city": {"type": "string", "description": "Where"},
           "days": {"type": "integer", "description": "How many"}}}}},
      {"type": "function", "function": {"name": "look_up", "description": "Looks.",
       "parameters": {"type": "object", "required": ["words"], "properties": {
           "words": {"type": "array", "items": {"type": "string"}, "description": "What"},
           "ratio": {"type": "number", "description": "Of all"},
           "deep": {"type": "boolean", "description": "Whether"},
           "more": {"type": "object", "description": "Other", "additionalProperties": {"type": "string"}}}}}}])");
}

struct Call {
  std::string name;
  Json arguments;
};
struct Answer {
  std::string text;
  std::vector<Call> calls;
  std::string thought = {};
};

const std::vector<Answer>& Answers() {
  static const std::vector<Answer> answers = {
      {"", {{"get_weather", {{"city", "Z\u00FCrich"}, {"days", 2}}}}},
      {"", {{"get_weather", {{"city", "It's \"1\" and 'a', 'b') \\n\n{x} <y>"}, {"days", -7}}}}},
      {"",
       {{"look_up",
         {{"words", Json::array({"it's", "a \"b\""})}, {"ratio", 0.5}, {"deep", true}, {"more", {{"a", "b"}}}}}}},
      {"", {{"get_weather", {{"city", "Ur"}}}, {"look_up", {{"words", Json::array({"x"})}, {"deep", false}}}}},
      {"Let me see.", {{"get_weather", {{"city", "Oslo"}, {"days", 1}}}}},
      {"", {{"get_weather", {{"city", "Bonn"}}}}, "Hm, I see."},
      {"It is warm.", {}, "Hm, I know."},
  };
  return answers;
}

struct Published {
  std::string name, source;
  ChatTemplateParts parts = {};
};

Result<MarkedText> Rendered(const Published& published, const std::optional<Answer>& answer) {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  SKALD_ASSIGN(const auto chat_template, ChatTemplate::Make(published.source, published.parts));
  Chat chat;
  chat.options = RenderOptionsNow();
  chat.add_generation_prompt = !answer.has_value();
  chat.tools_are_text = OutputFormatOf(published.source).tools == ToolForm::kJson;
  TreeOf(chat.tools) = Tools();
  chat.Add(Role::kUser, "Go");
  if (answer) {
    Json message = {{"role", "assistant"}, {"content", answer->text}};
    if (!answer->thought.empty()) message["reasoning_content"] = answer->thought;
    for (size_t i = 0; i < answer->calls.size(); ++i) {
      const Call& call = answer->calls[i];
      message["tool_calls"].push_back({{"id", "abcdefgh" + std::to_string(i)},
                                       {"type", "function"},
                                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    TreeOf(chat.messages).push_back(std::move(message));
  }
  return RenderChat(tokenizer, chat_template, chat);
}

// The assistant's part: the prompt's end is a part of it where the template writes the past in another way than a
// prompt, so that the two part within a mark.
std::string SaidAfter(const std::string& prompt, const std::string& whole) {
  size_t begin = static_cast<size_t>(std::ranges::mismatch(prompt, whole).in1 - prompt.begin());
  for (const auto& [open, close] : {std::pair{'<', '>'}, std::pair{'[', ']'}}) {
    const size_t at = begin == 0 ? prompt.npos : prompt.rfind(open, begin - 1);
    if (begin < prompt.size() && at != prompt.npos && prompt.find(close, at) >= begin) begin = at;
  }
  return whole.substr(begin);
}

// Without white space at the end.
std::string Shortened(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

// Reads a text in pieces. `end` becomes where the last call was whole.
Answer Read(const OutputReading& reading, std::string_view text, size_t size, size_t& end) {
  const auto parser = MakeOutputParser(reading);
  Answer answer;
  std::string json;
  const auto add = [&](const std::vector<OutputPart>& parts, size_t at) {
    for (const OutputPart& part : parts) {
      if (part.kind == Kind::kText) answer.text += part.text;
      if (part.kind == Kind::kReasoning) answer.thought += part.text;
      if (part.kind == Kind::kToolCall) json.clear();
      if (part.kind == Kind::kToolCall) answer.calls.push_back({part.text, {}});
      if (part.kind == Kind::kArguments) json += part.text;
      if (part.kind == Kind::kCallEnd) answer.calls.back().arguments = Json::parse(json), end = at;
    }
  };
  for (size_t at = 0; at < text.size(); at += size) {
    add(parser->Push(text.substr(at, size)), std::min(at + size, text.size()));
  }
  add(parser->Finish(), text.size());
  return answer;
}

// Returns how much of the text the filter of answers with calls lets through.
size_t Allowed(const OutputFormat& format, const ToolList& tools, std::string_view text) {
  static const auto vocabulary = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    tokens.emplace_back();
    return *TokenVocabulary::From(tokens, std::array{static_cast<int32_t>(tokens.size() - 1)});
  }();
  FilterCache cache;
  AnswerRules rules;
  rules.format = format;
  rules.tools = tools;
  const auto made = MakeAnswerFilter(rules, vocabulary, cache);
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
  const auto filter = (*made)->Clone().value();
  for (size_t i = 0; i < text.size(); ++i) {
    if (!filter->Accept(static_cast<unsigned char>(text[i]))) return i;
  }
  return text.size();
}

void CheckRoundTrips(const Published& published) {
  CAPTURE(published.name);
  const OutputFormat format = OutputFormatOf(published.source);
  CAPTURE(NameOf(format.tools));
  if (format.tools == ToolForm::kUnknown) {
    MESSAGE(published.name, ": its form is not known");
    return;
  }
  if (std::ranges::find(kBroken, published.name) != kBroken.end()) return;
  const auto prompt = Rendered(published, std::nullopt);
  CHECK_MESSAGE(prompt.has_value(), (prompt ? "" : prompt.error().message));
  if (!prompt) return;
  CHECK(prompt->text().find("get_weather") != std::string::npos);
  ToolList tools;
  for (const Json& tool : Tools()) {
    const Json& function = tool["function"];
    tools.tools.push_back({function["name"].get<std::string>(), "", JsonValueOf(function["parameters"])});
  }
  for (const Answer& answer : Answers()) {
    const auto whole = Rendered(published, answer);
    if (!whole && answer.calls.size() > 1) continue;  // of those that allow one call
    CHECK_MESSAGE(whole.has_value(), (whole ? "" : whole.error().message));
    if (!whole) continue;
    const std::string said = SaidAfter(prompt->text(), whole->text());
    if (answer.calls.size() > 1 && said.find(answer.calls.back().name) == said.npos) continue;  // the first call alone
    CAPTURE(said);
    const bool has_thought = said.find(answer.thought) != said.npos;
    OutputReading reading = {.format = format, .tools = tools};
    const std::string before = Shortened(whole->text().substr(0, whole->text().size() - said.size()));
    // A thought that the template does not end is none.
    reading.begins_thinking = !format.think_begin.empty() && before.ends_with(Shortened(format.think_begin)) &&
                              said.find(format.think_end) != said.npos;
    CAPTURE(before.substr(before.size() - std::min<size_t>(before.size(), 40)));
    for (const size_t size : {size_t{1}, size_t{7}, said.size()}) {
      size_t end = 0;
      const Answer read = Read(reading, said, size, end);
      CHECK(read.calls.size() == answer.calls.size());
      if (read.calls.size() != answer.calls.size()) break;
      for (size_t i = 0; i < read.calls.size(); ++i) {
        CHECK(read.calls[i].name == answer.calls[i].name);
        CHECK(nlohmann::json(read.calls[i].arguments) == nlohmann::json(answer.calls[i].arguments));
      }
      // Some templates leave out a text beside calls, or make it a thought.
      const std::string read_all = read.thought + read.text;
      if (said.find(answer.text) != said.npos) CHECK(read_all.find(answer.text) != read_all.npos);
      if (has_thought && !format.think_begin.empty()) CHECK(read.thought.find(answer.thought) != read.thought.npos);
      if (has_thought && answer.calls.empty()) CHECK(read.text.find(answer.text) != read.text.npos);
      if (size == 1) CHECK(said.substr(0, end).substr(std::min(end, Allowed(format, tools, said))) == "");  // the rest
    }
  }
}

TEST_CASE("recorded templates tell their forms, and their calls are read back") {
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (folder.empty()) {
    MESSAGE("SKIPPED: no folder SKALD_TEXT_GOLDENS with published templates");
    return;
  }
  const Json recorded = Json::parse(ReadBytes(folder / "templates/cases.json"));
  std::set<std::string> seen;
  for (const Json& known : recorded["templates"]) {
    Published published = {known["name"].get<std::string>(),
                           ReadBytes(folder / "templates" / known["file"].get<std::string>())};
    for (const auto& [name, spelling] : known["vars"].items()) {
      if (spelling.is_string()) published.parts.special_tokens[name] = spelling.get<std::string>();
    }
    const auto form = kForms.find(published.name);
    if (form == kForms.end()) continue;
    CAPTURE(published.name);
    CHECK(NameOf(OutputFormatOf(published.source).tools) == NameOf(form->second));
    CheckRoundTrips(published);
    seen.insert(published.name);
  }
  CHECK(seen.size() == kForms.size());
}

TEST_CASE("the calls of templates in SKALD_CHAT_TEMPLATES are read back") {
  const char* const folder = std::getenv("SKALD_CHAT_TEMPLATES");
  if (folder == nullptr) {
    MESSAGE("SKIPPED: no folder of published templates in SKALD_CHAT_TEMPLATES");
    return;
  }
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jinja") files.insert(entry.path());
  }
  for (const std::filesystem::path& file : files) {
    Published published = {file.stem().string(), ReadBytes(file)};
    published.parts.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    CheckRoundTrips(published);
  }
}

}  // namespace published_forms_test
}  // namespace skald::testing
