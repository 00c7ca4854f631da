// SPDX-License-Identifier: Apache-2.0
//
// ERNIE 4.5: its row of the registry.

#ifndef SKALD_FAMILIES_ERNIE4_5_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_ERNIE4_5_DETAIL_FAMILY_H_

#include <cstdint>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/ernie4_5/ernie4_5.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald::internal {

inline FamilyRules Ernie45Rules() {
  return {.implied = ShortFormOf<Ernie45Family>(), .kv_heads_given = false, .standard_epsilon = 1e-5};
}

inline FamilyRules Ernie45MoeRules() {
  FamilyRules rules = Ernie45Rules();
  rules.implied = ShortFormOf<Ernie45MoeFamily>();
  return rules;
}

inline ShortForm WithBiases(ShortForm a, bool biases) {
  a.qkv_bias = a.attention_output_bias = a.feed_forward_bias = biases;
  return a;
}

inline TextModel ReadErnie45(const JsonFields& fields) {
  return WithBiases(ReadTransformer(fields, Ernie45Rules()), fields.Flag("use_bias", false));
}

// Gives all layers from `first` to `last` experts whose numbers, counted from 1, `step` divides.
inline void AddErnieExperts(MixtureOfExperts experts, uint32_t first, uint32_t last, uint32_t step, ShortForm& a) {
  experts.selection_bias = true;
  SetExperts(experts, a);
  SetDenseLayers(a, [=](uint32_t layer) { return layer < first || layer > last || (layer + 1) % step != 0; });
}

inline TextModel ReadErnie45Moe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Ernie45MoeRules());
  fields.Expect("use_bias", false);
  MixtureOfExperts experts = ReadExperts(fields, "moe_num_experts", "moe_k", "moe_intermediate_size");
  experts.shared_width = fields.Integer("moe_num_shared_experts", 0, kMaxSharedExperts, 2) * experts.width;
  const int count = static_cast<int>(a.layers.size());
  const int last = fields.Integer("moe_layer_end_index", -1, kMaxLayers, -1);
  AddErnieExperts(experts, static_cast<uint32_t>(fields.Integer("moe_layer_start_index", 0, count, 1)),
                  static_cast<uint32_t>(last < 0 ? count - 1 : last),
                  static_cast<uint32_t>(fields.Size("moe_layer_interval", 1)), a);
  return a;
}

inline std::vector<DescribedModel> ReadErnie45Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const ShortForm a = ReadGgufModel(fields, Ernie45Rules(), facts);
  return {{a.model_type, Expand(a)}};
}

inline std::vector<DescribedModel> ReadErnie45MoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = Ernie45MoeRules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  MixtureOfExperts experts = *a.feed_forward->As<MixtureOfExperts>();
  if (fields.Integer("expert_shared_count", 0, kMaxSharedExperts, 0) > 0) {
    experts.shared_width = fields.Size("expert_shared_feed_forward_length");
  }
  const int count = static_cast<int>(a.layers.size());
  AddErnieExperts(experts, static_cast<uint32_t>(fields.Integer("leading_dense_block_count", 0, count, 0)),
                  static_cast<uint32_t>(count - 1), static_cast<uint32_t>(fields.Size("interleave_moe_layer_step", 1)),
                  a);
  return {{a.model_type, Expand(a)}};
}

inline void TellErnie45Experts(const ModelSpec& spec, nlohmann::json& fields) {
  const ExpertLayers layers(spec);
  fields["interleave_moe_layer_step"] = layers.step();
  fields["leading_dense_block_count"] = layers.first();
  fields["expert_shared_count"] = layers.shared();
}

inline constexpr Renaming kErnie45Names[] = {
    {"mlp.gate.e_score_correction_bias", "mlp.moe_statics.e_score_correction_bias"}};

inline constexpr PassedFields kErnie45PassedJson[] = {
    {"the weights of the chosen experts add up to more", "ernie4_5_moe", "moe_norm_min", 1e-12},
    {"how the model is trained", "ernie4_5_moe",
     "moe_capacity moe_use_hard_gate moe_orthogonal_loss_lambda multi_token_pred_lambda"},
    {"experts are chosen by their scores", "ernie4_5_moe", "moe_gate", "topk"},
    {"positions are as they are", "", "compression_ratio", 1.0},
    {"norms are RMSNorms", "", "use_rmsnorm", true},
    {"which of several ways to compute the same is taken", "", "use_flash_attention fuse_rope fuse_softmax_mask"},
    {"experts are chosen with their biases", "ernie4_5_moe", "moe_use_aux_free", true},
    {"the router's function is a softmax", "ernie4_5_moe", "moe_gate_act", "softmax"}};

inline constexpr PassedFields kErnie45PassedGguf[] = {
    {"the weights of the chosen experts add up to 1", "ernie4_5-moe", "expert_weights_norm", true},
    {"experts are chosen by a softmax", "ernie4_5-moe", "expert_gating_func", 1.0}};

inline constexpr ModelType kErnie45Types[] = {{.name = Ernie45Family::kModelType, .read = ReadErnie45},
                                              {.name = Ernie45MoeFamily::kModelType, .read = ReadErnie45Moe}};

inline constexpr GgufArchitecture kErnie45Architectures[] = {
    {.name = "ernie4_5", .read = ReadErnie45Gguf, .is_written = true},
    {.name = "ernie4_5-moe", .read = ReadErnie45MoeGguf, .is_written = true, .tell = TellErnie45Experts}};

struct Ernie45Row {
  static constexpr FamilyRow kRow = {.name = "ERNIE 4.5, dense and with experts",
                                     .special = "RoPE of neighbours; experts chosen by a softmax plus a bias",
                                     .model_types = kErnie45Types,
                                     .architectures = kErnie45Architectures,
                                     .names = kErnie45Names,
                                     .passed_json = kErnie45PassedJson,
                                     .passed_gguf = kErnie45PassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_ERNIE4_5_DETAIL_FAMILY_H_
