// SPDX-License-Identifier: Apache-2.0
//
// StarCoder 2: its row of the registry.

#ifndef SKALD_FAMILIES_STARCODER2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_STARCODER2_DETAIL_FAMILY_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/starcoder2/starcoder2.h"

namespace skald::internal {

inline FamilyRules StarCoder2Rules() {
  return {.implied = ShortFormOf<StarCoder2Family>(),
          .layers = LayerRule::kAllIfGiven,
          .norm_epsilon = "norm_epsilon",
          .standard_epsilon = 1e-5,
          .gated = false};
}

inline TextModel ReadStarCoder2(const JsonFields& fields) {
  fields.Expect("use_bias", true);
  return ReadTransformer(fields, StarCoder2Rules());
}

// The converter leaves out the window, which is the same in all published models. (llama.cpp has none there.)
inline std::vector<DescribedModel> ReadStarCoder2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, StarCoder2Rules(), facts);
  if (!fields.Contains("attention.sliding_window")) {
    a.window = 4096;
    std::ranges::fill(a.layers, LayerKind::kSlidingAttention);
  }
  return {{a.model_type, Expand(a)}};
}

// A file that says nothing is of a model with a window.
inline void TellNoWindow(const ModelSpec&, nlohmann::json& fields) {
  if (!fields.contains("attention.sliding_window")) fields["attention.sliding_window"] = 0;
}

inline constexpr Renaming kStarCoder2Names[] = {{"mlp.up_proj.", "mlp.c_fc."}, {"mlp.down_proj.", "mlp.c_proj."}};

inline constexpr PassedFields kStarCoder2PassedJson[] = {
    {"how the model is trained", "", "residual_dropout embedding_dropout"},
    {"norms have what LayerNorm has", "", "norm_type", "layer_norm"},
    {"feed-forward layers have no gate", "", "mlp_type", "default"}};

inline constexpr ModelType kStarCoder2Types[] = {{.name = StarCoder2Family::kModelType, .read = ReadStarCoder2}};

inline constexpr GgufArchitecture kStarCoder2Architectures[] = {
    {.name = "starcoder2", .read = ReadStarCoder2Gguf, .is_written = true, .tell = TellNoWindow}};

struct StarCoder2Row {
  static constexpr FamilyRow kRow = {.name = "StarCoder 2",
                                     .special = "LayerNorm, biases, feed-forward layers without a gate",
                                     .model_types = kStarCoder2Types,
                                     .architectures = kStarCoder2Architectures,
                                     .names = kStarCoder2Names,
                                     .passed_json = kStarCoder2PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_STARCODER2_DETAIL_FAMILY_H_
