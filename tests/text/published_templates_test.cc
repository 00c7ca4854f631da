// SPDX-License-Identifier: Apache-2.0

#include "skald/base/json/json_value_tree.h"
#include "skald/templates/published.h"

#include <map>
#include <string>

#include "doctest/doctest.h"

namespace skald {
namespace published_templates_test {

using Json = nlohmann::ordered_json;
using Files = std::map<std::string, std::string, std::less<>>;

Result<std::optional<ChatTemplate>> From(const Files& files) {
  return ChatTemplateFromFiles([&](std::string_view name) -> Result<std::string> {
    const auto file = files.find(name);
    if (file == files.end()) return Fail(ErrorCode::kNotFound, "no such file");
    return file->second;
  });
}

std::string Rendered(const Result<std::optional<ChatTemplate>>& found, std::string_view name = {}) {
  REQUIRE_MESSAGE(found.has_value(), (found ? "" : found.error().message));
  return *found ? (*found)->Render(JsonValue::Object(), {}, name)->text() : "none";
}

TEST_CASE("a template is found in each of the files that models publish it in") {
  CHECK(Rendered(From({})) == "none");
  CHECK(Rendered(From({{"tokenizer_config.json", "{}"}})) == "none");
  const std::string config = R"({"chat_template": "config"})", processor = R"({"chat_template": "processor"})";
  CHECK(Rendered(From({{"tokenizer_config.json", config}})) == "config");
  CHECK(Rendered(From({{"tokenizer_config.json", config}, {"chat_template.json", processor}})) == "processor");
  CHECK(Rendered(From({{"tokenizer_config.json", config}, {"chat_template.jinja", "file"}})) == "file");
}

TEST_CASE("named templates are found by name, and the default one is the main one") {
  const auto found = From({{"tokenizer_config.json", R"({"chat_template": [
      {"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]})"}});
  CHECK(Rendered(found) == "plain");
  CHECK(Rendered(found, "tool_use") == "tools");
  CHECK(Rendered(found, "other") == "plain");
  CHECK((*found)->Has("tool_use"));
  CHECK_FALSE((*found)->Has("rag"));
  CHECK(Rendered(From({{"chat_template.jinja", "main"}, {"additional_chat_templates/rag.jinja", "rag"}}), "rag") ==
        "rag");
}

TEST_CASE("special tokens are texts, objects with a text, or none") {
  const auto found = From({{"tokenizer_config.json", R"({"chat_template": "x", "add_bos_token": true,
      "bos_token": {"content": "<s>", "special": true}, "eos_token": "</s>", "pad_token": null})"}});
  REQUIRE(found.has_value());
  const ChatTemplateParts& parts = (*found)->parts();
  const decltype(parts.special_tokens) expected = {
      {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", std::nullopt}};
  CHECK((parts.special_tokens == expected));
  CHECK(parts.adds_bos);
}

TEST_CASE("files that cannot be right are refused by name") {
  for (const char* config :
       {"{", "[]", "3", R"({"chat_template": 3})", R"({"chat_template": [3]})",
        R"({"chat_template": [{"name": "default"}]})", R"({"bos_token": 3})", R"({"bos_token": {"content": []}})"}) {
    CAPTURE(config);
    const auto found = From({{"tokenizer_config.json", config}});
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().message.find("tokenizer_config.json") != std::string::npos);
  }
  CHECK_FALSE(From({{"chat_template.jinja", "{% if %}"}}).has_value());
}

TEST_CASE("the metadata of a GGUF file tell of templates as a tokenizer_config.json does") {
  GgufMetadata metadata;
  CHECK(Rendered(ChatTemplateFromGguf(metadata)) == "none");
  metadata.values["tokenizer.chat_template"] = "plain";
  metadata.values["tokenizer.chat_template.tool_use"] = "tools";
  const auto found = ChatTemplateFromGguf(metadata);
  CHECK(Rendered(found) == "plain");
  CHECK(Rendered(found, "tool_use") == "tools");
  CHECK_FALSE((*found)->parts().adds_bos);
  metadata.values["tokenizer.ggml.model"] = "llama";
  CHECK((*ChatTemplateFromGguf(metadata))->parts().adds_bos);
  metadata.values["tokenizer.ggml.add_bos_token"] = false;
  CHECK_FALSE((*ChatTemplateFromGguf(metadata))->parts().adds_bos);
  metadata.values["tokenizer.chat_template"] = 3;
  metadata.values["tokenizer.chat_template.tool_use"] = "{{";
  CHECK_FALSE(ChatTemplateFromGguf(metadata).has_value());
}

}  // namespace published_templates_test
}  // namespace skald
