// SPDX-License-Identifier: Apache-2.0
//
// MiniMax-M2: its row of the registry.

#ifndef SKALD_FAMILIES_MINIMAX_M2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MINIMAX_M2_DETAIL_FAMILY_H_

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/minimax_m2/minimax_m2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald::internal {

inline FamilyRules MiniMaxM2Rules() {
  return {.implied = ShortFormOf<MiniMaxM2Family>(), .experts = ExpertRule::kEveryLayer, .may_rotate_partly = true};
}

inline ShortForm WeighedBySigmoids(ShortForm a) {
  ChangeExperts(a, [](MixtureOfExperts& experts) { experts.sigmoid = experts.selection_bias = true; });
  return a;
}

inline TextModel ReadMiniMaxM2(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, MiniMaxM2Rules());
  a.rotary_dim = fields.Integer("rotary_dim", 1, a.head_dim, a.rotary_dim);
  return WeighedBySigmoids(std::move(a));
}

inline std::vector<DescribedModel> ReadMiniMaxM2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  fields.Expect("expert_gating_func", 2);  // sigmoid
  const ShortForm a = WeighedBySigmoids(ReadGgufModel(fields, MiniMaxM2Rules(), facts));
  return {{a.model_type, Expand(a)}};
}

inline void TellSigmoids(const ModelSpec&, nlohmann::json& fields) { fields["expert_gating_func"] = 2; }

inline constexpr Renaming kMiniMaxM2Names[] = {
    {"mlp.gate.e_score_correction_bias", "block_sparse_moe.e_score_correction_bias"}};

inline constexpr PassedFields kMiniMaxM2PassedJson[] = {
    {"layers that predict further tokens, which are not read", "", "use_mtp num_mtp_modules mtp_transformer_layers"},
    {"queries and keys are normalised as whole projections", "", "use_qk_norm", true},
    {"likewise", "", "qk_norm_type", "per_layer"},
    {"experts are weighed by sigmoids and chosen with biases", "", "scoring_func", "sigmoid"},
    {"likewise", "", "use_routing_bias", true},
    {"no expert that all rows share", "", "shared_intermediate_size", 0.0},
    {"of a shared expert, of which there is none", "", "shared_moe_mode"},
    {"residuals are added as they are", "",
     "layernorm_full_attention_alpha layernorm_full_attention_beta layernorm_linear_attention_alpha "
     "layernorm_linear_attention_beta layernorm_mlp_alpha layernorm_mlp_beta",
     1.0}};

inline constexpr PassedFields kMiniMaxM2PassedGguf[] = {
    {"a width, which the tensors have or do not fit", "", "expert_feed_forward_length"},
    {"the weights of the chosen experts add up to 1", "", "expert_weights_norm", true}};

inline constexpr ModelType kMiniMaxM2Types[] = {{.name = MiniMaxM2Family::kModelType, .read = ReadMiniMaxM2}};

inline constexpr GgufArchitecture kMiniMaxM2Architectures[] = {
    {.name = "minimax-m2", .read = ReadMiniMaxM2Gguf, .is_written = true, .tell = TellSigmoids}};

struct MiniMaxM2Row {
  static constexpr FamilyRow kRow = {
      .name = "MiniMax-M2",
      .special = "QK-norm over whole projections, RoPE of a part of each head, experts weighed by sigmoids",
      .model_types = kMiniMaxM2Types,
      .architectures = kMiniMaxM2Architectures,
      .names = kMiniMaxM2Names,
      .passed_json = kMiniMaxM2PassedJson,
      .passed_gguf = kMiniMaxM2PassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MINIMAX_M2_DETAIL_FAMILY_H_
