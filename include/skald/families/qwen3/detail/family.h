// SPDX-License-Identifier: Apache-2.0
//
// Qwen3, dense and with experts: its row of the registry.

#ifndef SKALD_FAMILIES_QWEN3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_QWEN3_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/qwen3/qwen3.h"
#include "skald/families/qwen3/qwen3_moe.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald::internal {

inline FamilyRules Qwen3Rules() {
  return {.implied = ShortFormOf<Qwen3Family>(),
          .layers = LayerRule::kUpper,
          .head_dim = 128,
          .reads_attention_bias = true};
}

inline FamilyRules Qwen3MoeRules() {
  return {.implied = ShortFormOf<Qwen3MoeFamily>(),
          .layers = LayerRule::kUpper,
          .reads_attention_bias = true,
          .experts = ExpertRule::kSomeLayers};
}

// The original gives all layers a window or none, whatever it reads of single ones.
inline ShortForm ReadQwen3MoeLayers(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Qwen3MoeRules());
  const auto sliding = static_cast<size_t>(std::ranges::count(a.layers, LayerKind::kSlidingAttention));
  if (sliding > 0 && sliding < a.layers.size()) {
    fields.Unsupported("use_sliding_window", true, "false, unless all layers have the window");
  }
  return a;
}

inline TextModel ReadQwen3Moe(const JsonFields& fields) { return ReadQwen3MoeLayers(fields); }

// Its router's weights add up to 1, whatever the field says that Qwen3-MoE has for it.
inline TextModel ReadQwen3VlMoe(const JsonFields& fields) {
  ShortForm a = ReadQwen3MoeLayers(fields);
  fields.Expect("norm_topk_prob", true);
  ChangeExperts(a, [](MixtureOfExperts& experts) { experts.normalized = true; });
  return a;
}

inline constexpr PassedFields kQwen3PassedJson[] = {
    {"only counts with use_sliding_window, and is read with it", "", "sliding_window"},
    {"positions in images; a text's are the same in every section", "qwen3 qwen3_moe",
     "rope_parameters.mrope_section rope_parameters.mrope_interleaved rope_scaling.mrope_section "
     "rope_scaling.mrope_interleaved"}};

inline constexpr PassedFields kQwen3PassedGguf[] = {
    {"layers that read what an encoder of images gives", "qwen3vl qwen3vlmoe", "n_deepstack_layers"},
    {"the width of layers without experts, of which there are none", "qwen3moe qwen3vlmoe", "feed_forward_length"},
    {"the softmax of the chosen experts, as in all published models", "qwen3moe qwen3vlmoe", "expert_weights_norm",
     true},
    {"experts are chosen by a softmax", "qwen3moe qwen3vlmoe", "expert_gating_func", 1.0}};

inline constexpr ModelType kQwen3Types[] = {
    {.name = Qwen3Family::kModelType, .read = ReadTransformerWith<Qwen3Rules>},
    {.name = Qwen3MoeFamily::kModelType, .read = ReadQwen3Moe},
    {.name = "qwen3_vl_text", .read = ReadTransformerWith<Qwen3Rules>, .outer = "qwen3_vl"},
    {.name = "qwen3_vl_moe_text", .read = ReadQwen3VlMoe, .outer = "qwen3_vl_moe"}};

inline constexpr GgufArchitecture kQwen3Architectures[] = {
    {.name = "qwen3", .read = ReadGgufWith<Qwen3Rules>, .is_written = true},
    {.name = "qwen3moe", .read = ReadGgufWith<Qwen3MoeRules>, .is_written = true},
    {.name = "qwen3vl", .read = ReadGgufWith<Qwen3Rules>},
    {.name = "qwen3vlmoe", .read = ReadGgufWith<Qwen3MoeRules>}};

struct Qwen3Row {
  static constexpr FamilyRow kRow = {.name = "Qwen3, Qwen3-MoE, Qwen3-VL (text)",
                                     .special = "QK-norm; mixtures of experts",
                                     .model_types = kQwen3Types,
                                     .architectures = kQwen3Architectures,
                                     .passed_json = kQwen3PassedJson,
                                     .passed_gguf = kQwen3PassedGguf};
  using Published = ConfigTypes<Qwen3_0_6B, Qwen3_4B, Qwen3_30B_A3B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_QWEN3_DETAIL_FAMILY_H_
