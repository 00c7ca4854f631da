// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of a drafter of Gemma 4. Sources:
// models/gemma4_assistant/configuration_gemma4_assistant.py, version 5 of https://github.com/huggingface/transformers;
// src/models/gemma4-assistant.cpp and conversion/gemma.py of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_MODEL_HEADS_DETAIL_ASSISTANT_CONFIG_H_
#define SKALD_MODEL_HEADS_DETAIL_ASSISTANT_CONFIG_H_

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/config_json.h"
#include "skald/families/gguf_config.h"
#include "skald/layers/model_spec.h"
#include "skald/model/heads/detail/head_files.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

inline constexpr std::string_view kAssistantArchitecture = "gemma4-assistant";
inline constexpr std::string_view kAssistantTypes[] = {"gemma4_assistant", "gemma4_unified_assistant"};

struct AssistantConfig {
  ModelSpec layers;               // a model of the layers alone, as Gemma 4 has it
  int model_dim = 0;              // of the model that it is for
  size_t groups = 0, chosen = 0;  // of tokens; 0: none
};

inline Result<AssistantConfig> ReadAssistantFolder(const std::filesystem::path& folder) {
  HeadJson file(folder);
  nlohmann::json& json = file.json;
  AssistantConfig config;
  config.model_dim = 1536;
  bool has_groups = false;
  size_t groups = 2048, chosen = 32;
  SKALD_TRY(Take(json, "backbone_hidden_size", config.model_dim));
  SKALD_TRY(Take(json, "use_ordered_embeddings", has_groups));
  SKALD_TRY(Take(json, "num_centroids", groups));
  SKALD_TRY(Take(json, "centroid_intermediate_top_k", chosen));
  if (has_groups) config.groups = groups, config.chosen = chosen;
  json["model_type"] = "gemma4";
  if (const auto text = json.find("text_config"); text != json.end() && text->is_object()) {
    text->erase("num_kv_shared_layers");  // all of them
    if (SaysText(*text, "model_type", "gemma4_unified_text")) (*text)["model_type"] = "gemma4_text";
  }
  SKALD_ASSIGN(auto described, ParseConfigJson(json.dump()));
  config.layers = std::move(described.spec);
  return config;
}

inline Result<AssistantConfig> ReadAssistantGguf(const GgufFile& file) {
  constexpr std::string_view kOwn[] = {"embedding_length_out", "nextn_predict_layers", "attention.shared_kv_layers"};
  SKALD_ASSIGN(auto models, ModelsOf(file, {kAssistantArchitecture, "gemma4", kOwn}));
  AssistantConfig config = {.layers = std::move(models.front().spec)};
  config.layers.tied_embeddings = true;
  const auto width = file.metadata().Number(Concat({kAssistantArchitecture, ".embedding_length_out"}));
  if (!width || !(*width > 0 && *width <= 1 << 24)) {
    return Fail(ErrorCode::kDataLoss, "metadata: gemma4-assistant.embedding_length_out: expected the model's width");
  }
  config.model_dim = static_cast<int>(*width);
  return config;
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_ASSISTANT_CONFIG_H_
