// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of a head of EAGLE-3. Sources: llama_eagle3.py in
// vllm/model_executor/models of https://github.com/vllm-project/vllm, and src/models/eagle3.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_MODEL_HEADS_DETAIL_EAGLE_CONFIG_H_
#define SKALD_MODEL_HEADS_DETAIL_EAGLE_CONFIG_H_

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

#include "skald/base/files/small_file.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/config_json.h"
#include "skald/families/gguf_config.h"
#include "skald/layers/model_spec.h"
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
  std::vector<size_t> places = {};      // numbers of the model's layers; none: the usual ones
};

inline nlohmann::json EagleJson(const std::filesystem::path& folder) {
  const auto text = ReadSmallFile(folder / "config.json", kMaxConfigJson);
  nlohmann::json json;
  if (!text || !ParseJson(*text, json).empty()) return {};
  return json;
}

// Takes a field out, so that what is left describes a model of Llama's.
template <class T>
T Taken(nlohmann::json& json, const std::string& name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  T value = found->is_null() ? otherwise : found->get<T>();
  json.erase(found);
  return value;
}

inline Result<EagleConfig> ReadEagleFolder(const std::filesystem::path& folder) {
  nlohmann::json json = EagleJson(folder);
  EagleConfig config;
  Taken(json, "draft_vocab_size", 0);  // the output head says it too
  config.norm_before_residual = Taken(json, "norm_before_residual", false);
  config.norm_before_projection = Taken(json, "norm_before_fc", false);
  config.places = Taken(json, "eagle_aux_hidden_state_layer_ids", config.places);
  if (auto own = json.find("eagle_config"); own != json.end() && own->is_object()) {
    config.places = Taken(*own, "eagle_aux_hidden_state_layer_ids", config.places);
  }
  for (const char* const name : {"eagle_config", "target_hidden_size", "parallel_drafting"}) json.erase(name);
  json["model_type"] = "llama";
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
