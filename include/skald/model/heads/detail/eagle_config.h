// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of a head of EAGLE-3. Sources: llama_eagle3.py in
// vllm/model_executor/models of https://github.com/vllm-project/vllm, and src/models/eagle3.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_MODEL_HEADS_DETAIL_EAGLE_CONFIG_H_
#define SKALD_MODEL_HEADS_DETAIL_EAGLE_CONFIG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/config_json.h"
#include "skald/families/gguf_config.h"
#include "skald/layers/model_spec.h"
#include "skald/model/heads/detail/head_files.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

inline constexpr std::string_view kEagleArchitecture = "eagle3";
inline constexpr size_t kMostEaglePlaces = 64;  // published heads have 3
inline constexpr double kMostTokens = 1 << 30;  // of a vocabulary

struct EagleConfig {
  ModelSpec layer;  // a model of the layer alone, as Llama has it
  bool norm_before_residual = false;
  bool norm_before_projection = false;  // of what is read of the model
  size_t drafts = 0;                    // tokens of the output head; 0: the file does not say it
  std::vector<size_t> places = {};      // numbers of the model's layers; none: the usual ones
};

// Whether a config.json is that of a head of EAGLE-3.
inline bool IsEagleJson(const nlohmann::json& json) {
  if (!json.is_object()) return false;
  if (SaysText(json, "speculators_model_type", "eagle3")) return true;
  const auto names = json.find("architectures"), layers = json.find("num_hidden_layers");
  const auto says_so = [](const nlohmann::json& name) {
    return name.is_string() && name.get_ref<const std::string&>().find("Eagle3") != std::string::npos;
  };
  if (names != json.end() && names->is_array() && std::ranges::any_of(*names, says_so)) return true;
  return json.contains("draft_vocab_size") && layers != json.end() && *layers == 1;
}

// Takes a field out whose other values make another head of it.
template <class T>
Result<void> TakeUsual(nlohmann::json& json, const char* name, T usual) {
  T value = usual;
  SKALD_TRY(Take(json, name, value));
  if (value == usual) return {};
  return Fail(ErrorCode::kUnsupported,
              Concat({"config.json: ", name, ": a head with another value than the usual one"}));
}

// Reads what publishers of NVIDIA's say of a head.
inline Result<void> ReadEagleSettings(nlohmann::json& json, EagleConfig& config) {
  const auto found = json.find("eagle_config");
  if (found == json.end() || !found->is_object()) return {};
  nlohmann::json settings;
  const JsonGuard guard(settings);
  settings.swap(*found);
  json.erase(found);
  SKALD_TRY(Take(settings, "eagle_aux_hidden_state_layer_ids", config.places));
  for (const char* const name :
       {"use_aux_hidden_state", "use_input_layernorm_in_first_layer", "use_last_layernorm", "next_layer_regular"}) {
    SKALD_TRY(TakeUsual(settings, name, true));
  }
  SKALD_TRY(TakeUsual(settings, "use_mtp_layernorm", false));
  SKALD_TRY(TakeUsual(settings, "parallel_draft_step", 1));
  settings.erase("parallel_draft_heads_num_layers");  // of more steps
  if (settings.empty()) return {};
  return Fail(ErrorCode::kUnsupported,
              Concat({"config.json: eagle_config: ", settings.items().begin().key(), " is not known"}));
}

// Puts what the layer is, which the speculators library has apart, beside all else.
inline void JoinSpeculators(nlohmann::json& json) {
  const auto found = json.find("transformer_layer_config");
  if (found == json.end() || !found->is_object()) return;
  nlohmann::json layer;
  const JsonGuard guard(layer);
  layer.swap(*found);
  json.erase(found);
  // These say how many tokens are guessed, for which model, and how the head was made.
  for (const char* const name : {"speculators_config", "speculators_model_type", "speculators_version", "auto_map",
                                 "embed_requires_grad", "has_no_defaults_at_init", "base_model_ep_plan"}) {
    json.erase(name);
  }
  layer.update(json);
  json.swap(layer);
}

inline Result<EagleConfig> ReadEagleFolder(const std::filesystem::path& folder) {
  HeadJson file(folder);
  nlohmann::json& json = file.json;
  JoinSpeculators(json);
  EagleConfig config;
  SKALD_TRY(Take(json, "draft_vocab_size", config.drafts));
  SKALD_TRY(Take(json, "norm_before_residual", config.norm_before_residual));
  SKALD_TRY(Take(json, "norm_before_fc", config.norm_before_projection));
  SKALD_TRY(Take(json, "eagle_aux_hidden_state_layer_ids", config.places));
  SKALD_TRY(ReadEagleSettings(json, config));
  // EAGLE-3.1 normalises more; other heads guess several tokens at once.
  for (const char* const name : {"fc_norm", "norm_output", "parallel_drafting"}) {
    SKALD_TRY(TakeUsual(json, name, false));
  }
  SKALD_TRY(TakeUsual(json, "model_type", std::string("llama")));
  json["model_type"] = "llama";
  json.erase("target_hidden_size");  // the projection says it too
  SKALD_ASSIGN(auto described, ParseConfigJson(json.dump()));
  config.layer = std::move(described.spec);
  return config;
}

// `vocab_size` is the model's, if the file has neither an embedding nor says it.
inline Result<EagleConfig> ReadEagleGguf(const GgufFile& file, int vocab_size) {
  const auto said = file.metadata().Number(Concat({kEagleArchitecture, ".vocab_size"}));
  if (said && *said > 0 && *said <= kMostTokens) vocab_size = static_cast<int>(*said);
  constexpr std::string_view kOwn[] = {"target_layers", "target_hidden_size", "norm_before_residual", "norm_before_fc"};
  SKALD_ASSIGN(auto models, ModelsOf(file, {kEagleArchitecture, "llama", kOwn, vocab_size}));
  const GgufMetadata& metadata = file.metadata();
  const auto is_set = [&](std::string_view name) {
    const bool* const flag = metadata.Get<bool>(Concat({kEagleArchitecture, ".", name}));
    return flag != nullptr && *flag;
  };
  EagleConfig config = {.layer = std::move(models.front().spec),
                        .norm_before_residual = is_set("norm_before_residual"),
                        .norm_before_projection = is_set("norm_before_fc")};
  const GgufArray* const places = metadata.Array("eagle3.target_layers");
  if (places == nullptr || places->size() > kMostEaglePlaces) {
    return Fail(ErrorCode::kDataLoss, "metadata: eagle3.target_layers: expected an array of at most 64 whole numbers");
  }
  places->ForEach([&](const GgufValue& value) {
    const auto* const scalar = std::get_if<GgufScalar>(&value);
    const auto* const number = scalar != nullptr ? std::get_if<uint64_t>(scalar) : nullptr;
    const auto* const with_sign = scalar != nullptr ? std::get_if<int64_t>(scalar) : nullptr;
    constexpr size_t kNone = std::numeric_limits<size_t>::max();  // of no model
    config.places.push_back(number != nullptr                         ? *number
                            : with_sign != nullptr && *with_sign >= 0 ? static_cast<size_t>(*with_sign)
                                                                      : kNone);
    return true;
  });
  return config;
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_EAGLE_CONFIG_H_
