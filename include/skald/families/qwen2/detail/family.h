// SPDX-License-Identifier: Apache-2.0
//
// Qwen2 and MiMo: their row of the registry.

#ifndef SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_

#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/qwen2/qwen2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Qwen2Rules() { return {.implied = ShortFormOf<Qwen2Family>(), .layers = LayerRule::kUpper}; }

inline FamilyRules MimoRules() { return {.implied = ShortFormOf<MimoFamily>(), .layers = LayerRule::kUpper}; }

inline FamilyRules Qwen2MoeRules() {
  return {.implied = ShortFormOf<Qwen2MoeFamily>(), .experts = ExpertRule::kSomeLayers};
}

// Adds the expert that all rows share.
inline ShortForm WithSharedExpert(ShortForm a, int width) {
  ChangeExperts(a, [&](MixtureOfExperts& experts) {
    experts.shared_width = width;
    experts.shared_gate = true;
  });
  return a;
}

inline TextModel ReadQwen2Moe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Qwen2MoeRules());
  a.qkv_bias = fields.Flag("qkv_bias", true);
  return WithSharedExpert(std::move(a), fields.Size("shared_expert_intermediate_size"));
}

// llama.cpp never makes the weights of the chosen experts add up to 1.
inline std::vector<DescribedModel> ReadQwen2MoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, Qwen2MoeRules(), facts);
  ChangeExperts(a, [](MixtureOfExperts& experts) { experts.normalized = false; });
  a = WithSharedExpert(std::move(a), fields.Size("expert_shared_feed_forward_length"));
  return {{a.model_type, Expand(a)}};
}

inline constexpr PassedFields kQwen2PassedGguf[] = {
    {"the softmax of all experts, as in all published models", "qwen2moe", "expert_weights_norm", false},
    {"experts are chosen by a softmax", "qwen2moe", "expert_gating_func", 1.0}};

inline constexpr PassedFields kQwen2PassedJson[] = {
    {"only counts with use_sliding_window, and is read with it", "", "sliding_window"},
    {"its attention has the biases that it has, whatever this says", "", "attention_bias"}};

inline constexpr ModelType kQwen2Types[] = {{.name = Qwen2Family::kModelType, .read = ReadTransformerWith<Qwen2Rules>},
                                            {.name = Qwen2MoeFamily::kModelType, .read = ReadQwen2Moe},
                                            {.name = MimoFamily::kModelType, .read = ReadTransformerWith<MimoRules>}};

inline constexpr GgufArchitecture kQwen2Architectures[] = {
    {.name = "qwen2", .read = ReadGgufWith<Qwen2Rules>, .is_written = true},
    {.name = "qwen2moe", .read = ReadQwen2MoeGguf, .is_written = true}};

struct Qwen2Row {
  static constexpr FamilyRow kRow = {.name = "Qwen2, Qwen2-MoE, MiMo",
                                     .special = "QKV bias; mixtures of experts with a gated shared one",
                                     .model_types = kQwen2Types,
                                     .architectures = kQwen2Architectures,
                                     .passed_json = kQwen2PassedJson,
                                     .passed_gguf = kQwen2PassedGguf};
  using Published = ConfigTypes<Qwen2_5_0_5B, Qwen2_5_1_5B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_
