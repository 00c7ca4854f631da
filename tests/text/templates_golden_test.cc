// SPDX-License-Identifier: Apache-2.0
//
// Published chat templates and small programs, rendered as Jinja itself renders them. The recorded renderings lie
// outside of the repository, in the folder SKALD_TEXT_GOLDENS of the build.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/templates/chat_template.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace templates_golden_test {

using Json = nlohmann::ordered_json;

std::optional<std::filesystem::path> Goldens() {
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (!folder.empty()) return folder;
  MESSAGE("SKIPPED: no folder SKALD_TEXT_GOLDENS with recorded renderings");
  return std::nullopt;
}

WallTime TimeOf(const std::string& text) {  // 2025-02-04 09:05:03
  const auto number = [&](size_t begin, size_t size) { return std::stoi(text.substr(begin, size)); };
  return {number(0, 4), number(5, 2), number(8, 2), number(11, 2), number(14, 2), number(17, 2)};
}

// Whether a rendering, or its failure, is as recorded. Lists may be changed here.
bool IsAsRecorded(const Result<ChatTemplate>& chat_template, const Json& variables, const Json& recorded,
                  const RenderOptions& options) {
  const Result<MarkedText> text = chat_template ? chat_template->Render(JsonValueOf(variables), options)
                                                : Result<MarkedText>(Failure(chat_template.error()));
  for (const char* name : {"expected_if_mutable", "expected"}) {
    if (recorded.contains(name)) return text && text->text() == recorded[name].get<std::string>();
  }
  const Json& error = recorded["error"];
  return !text && (!error["exact"].get<bool>() ||
                   text.error().message.find(error["message"].get<std::string>()) != std::string::npos);
}

TEST_CASE("small programs are rendered as recorded") {
  const auto folder = Goldens();
  if (!folder) return;
  const Json recorded = Json::parse(ReadBytes(*folder / "jinja/programs.json"));
  RenderOptions options;
  options.now = TimeOf(recorded["now"]);
  size_t count = 0;
  for (const Json& program : recorded.contains("cases") ? recorded["cases"] : recorded["programs"]) {
    const auto source = program["template"].get<std::string>();
    CAPTURE(source);
    CHECK(IsAsRecorded(ChatTemplate::Parse(source), program["context"], program, options));
    ++count;
  }
  MESSAGE(count, " programs");
  CHECK(count > 100);
}

TEST_CASE("published templates are rendered as recorded") {
  const auto folder = Goldens();
  if (!folder) return;
  const Json recorded = Json::parse(ReadBytes(*folder / "templates/cases.json"));
  RenderOptions options;
  options.now = TimeOf(recorded["now"]);
  std::map<std::string, std::pair<Result<ChatTemplate>, Json>> templates;
  for (const Json& known : recorded["templates"]) {
    const auto source = ReadBytes(*folder / "templates" / known["file"].get<std::string>());
    templates.emplace(known["name"], std::pair(ChatTemplate::Parse(source), known["vars"]));
  }
  std::map<std::string, Json> contexts;
  for (const Json& context : recorded["contexts"]) contexts[context["name"]] = context;
  size_t count = 0;
  for (const Json& one : recorded["cases"]) {
    const std::string name = one["template"], context = one["context"];
    CAPTURE(name);
    CAPTURE(context);
    const auto& [chat_template, special_tokens] = templates.at(name);
    Json variables = special_tokens;
    for (const auto& [variable, value] : contexts.at(context).items()) {
      if (variable != "name") variables[variable] = value;
    }
    CHECK(IsAsRecorded(chat_template, variables, one, options));
    ++count;
  }
  MESSAGE(count, " renderings");
  CHECK(count > 100);
}

}  // namespace templates_golden_test
}  // namespace skald
