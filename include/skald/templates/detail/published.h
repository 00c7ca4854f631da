// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/published.h.

#ifndef SKALD_TEMPLATES_DETAIL_PUBLISHED_H_
#define SKALD_TEMPLATES_DETAIL_PUBLISHED_H_

#include "skald/templates/published.h"

#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/templates/built_in.h"
#include "skald/templates/special_tokens.h"

namespace skald {

namespace internal {

class PublishedTemplate {
 public:
  using Json = nlohmann::ordered_json;

  explicit PublishedTemplate(const ReadPublishedFile& read_file) : read_file_(read_file) {}

  Result<std::optional<ChatTemplate>> Find() {
    ReadConfig("tokenizer_config.json");
    ReadConfig("chat_template.json");
    Read("chat_template.jinja", [this](std::string text) { main_ = std::move(text); });
    for (const std::string_view name : {"tool_use", "rag"}) {
      Read(Concat({"additional_chat_templates/", name, ".jinja"}),
           [&](std::string text) { parts_.named_sources.emplace_back(name, std::move(text)); });
    }
    if (error_) return Failure(*std::move(error_));
    if (!main_) return std::nullopt;
    SKALD_ASSIGN(auto made, ChatTemplate::Make(*main_, std::move(parts_)));
    return std::optional(std::move(made));
  }

 private:
  template <class Take>
  void Read(std::string_view name, Take take) {
    if (error_) return;
    Result<std::string> text = read_file_(name);
    if (text) {
      take(*std::move(text));
    } else if (text.error().code != ErrorCode::kNotFound) {
      error_ = text.error();
    }
  }

  void Complain(std::string_view file, std::string_view what) {
    if (!error_) error_ = Error{ErrorCode::kDataLoss, Concat({file, ": ", what})};
  }

  void ReadConfig(std::string_view file) {
    Read(file, [&](const std::string& text) {
      Json config;
      std::string complaint = internal::ParseJson(text, config);
      if (complaint.empty() && !config.is_object()) complaint = "is no JSON object";
      if (!complaint.empty()) return Complain(file, complaint);
      ReadTemplates(file, config.value("chat_template", Json()));
      ReadTokens(file, config);
    });
  }

  // A text, or a list of {"name": ..., "template": ...}.
  void ReadTemplates(std::string_view file, const Json& templates) {
    if (templates.is_null()) return;
    if (templates.is_string()) {
      main_ = templates.get<std::string>();
      return;
    }
    if (!templates.is_array()) return Complain(file, "chat_template must be a text or a list");
    for (const Json& named : templates) {
      const bool is_named =
          named.is_object() && named.value("name", Json()).is_string() && named.value("template", Json()).is_string();
      if (!is_named) return Complain(file, "each of chat_template must have a name and a template");
      const auto name = named["name"].get<std::string>();
      auto source = named["template"].get<std::string>();
      if (name == "default" || !main_) main_ = source;
      parts_.named_sources.emplace_back(name, std::move(source));
    }
  }

  // "bos_token": a text, or an object with its content.
  void ReadTokens(std::string_view file, const Json& config) {
    for (const std::string_view name : jinja::kSpecialTokenNames) {
      const auto found = config.find(name);
      if (found == config.end()) continue;
      const Json token = found->is_object() ? found->value("content", Json()) : *found;
      if (!token.is_string() && !token.is_null()) return Complain(file, Concat({name, " must be a text"}));
      parts_.special_tokens[std::string(name)] =
          token.is_string() ? std::optional(token.get<std::string>()) : std::nullopt;
    }
    const Json adds_bos = config.value("add_bos_token", Json());
    if (adds_bos.is_boolean()) parts_.adds_bos = adds_bos.get<bool>();
  }

  const ReadPublishedFile& read_file_;
  std::optional<std::string> main_;
  ChatTemplateParts parts_;
  std::optional<Error> error_;
};

}  // namespace internal

SKALD_INLINE Result<std::optional<ChatTemplate>> ChatTemplateFromFiles(const ReadPublishedFile& read_file) {
  return NoThrow("the chat template", [&] { return internal::PublishedTemplate(read_file).Find(); });
}

SKALD_INLINE std::optional<std::string> TokenizerConfigFromGguf(const GgufMetadata& metadata) {
  using Json = nlohmann::ordered_json;
  constexpr std::string_view kTemplate = "tokenizer.chat_template";
  Json templates = Json::array();
  const auto add = [&](std::string_view name, const std::string& source) {
    Json entry = Json::object();
    entry["name"] = name;
    entry["template"] = source;
    templates.push_back(std::move(entry));
  };
  for (const auto& [name, value] : metadata.values) {
    const auto* const source = std::get_if<std::string>(&value);
    if (!name.starts_with(kTemplate) || source == nullptr) continue;
    const std::string_view rest = std::string_view(name).substr(kTemplate.size());
    if (rest.empty()) add("default", *source);
    if (rest.starts_with('.')) add(rest.substr(1), *source);
  }
  if (templates.empty()) return std::nullopt;
  // Files with SentencePiece tokenizers begin texts with BOS unless they say otherwise.
  const auto* const model = metadata.Get<std::string>("tokenizer.ggml.model");
  const auto* const adds_bos = metadata.Get<bool>("tokenizer.ggml.add_bos_token");
  Json config = Json::object();
  config["chat_template"] = std::move(templates);
  const bool adds_by_default = model != nullptr && (*model == "llama" || *model == "gemma4");
  config["add_bos_token"] = adds_bos != nullptr ? *adds_bos : adds_by_default;
  return config.dump(-1, ' ', false, Json::error_handler_t::replace);
}

SKALD_INLINE Result<std::optional<ChatTemplate>> ChatTemplateFromGguf(const GgufMetadata& metadata) {
  const auto* const said = metadata.Get<std::string>("tokenizer.chat_template");
  for (const internal::BuiltInSource& built_in : internal::BuiltInSources()) {
    if (said != nullptr && *said == built_in.name) return BuiltInTemplate(built_in.name);
  }
  return ChatTemplateFromFiles([&](std::string_view name) -> Result<std::string> {
    const auto config = name == "tokenizer_config.json" ? TokenizerConfigFromGguf(metadata) : std::nullopt;
    if (config) return *config;
    return Fail(ErrorCode::kNotFound, "the metadata have no such part");
  });
}

}  // namespace skald

#endif  // SKALD_TEMPLATES_DETAIL_PUBLISHED_H_
