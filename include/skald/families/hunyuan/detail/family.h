// SPDX-License-Identifier: Apache-2.0
//
// Hunyuan: its row of the registry.

#ifndef SKALD_FAMILIES_HUNYUAN_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_HUNYUAN_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/hunyuan/hunyuan.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald::internal {

inline FamilyRules HunyuanDenseRules() {
  return {.implied = ShortFormOf<HunyuanDenseFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .dynamic_rope = DynamicRope::kOtherBase};
}

inline FamilyRules HunyuanMoeRules() {
  FamilyRules rules = HunyuanDenseRules();
  rules.implied = ShortFormOf<HunyuanMoeFamily>();
  return rules;
}

// Returns a number that a file has once, or in an array for each layer.
inline int ReadHunyuanNumber(const JsonFields& fields, const char* name, int standard) {
  const nlohmann::json* const found = fields.Find(name);
  if (found == nullptr || !found->is_array()) return fields.Integer(name, 1, kMaxExperts, standard);
  const bool is_one = !found->empty() && found->front().is_number_integer() &&
                      std::all_of(found->begin(), found->end(), [&](const auto& one) { return one == found->front(); });
  const auto number = is_one ? found->front().get<int64_t>() : int64_t{0};
  if (number >= 1 && number <= kMaxExperts) return static_cast<int>(number);
  fields.WrongValue(name, *found, "one whole number, the same for every layer");
  return standard;
}

// Experts are as wide as the feed-forward layer that is beside them.
inline TextModel ReadHunyuanMoe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, HunyuanMoeRules());
  MixtureOfExperts experts = {.experts = fields.Integer("num_experts", 1, kMaxExperts),
                              .width = a.feed_forward_dim,
                              .shared_width = a.feed_forward_dim};
  experts.chosen = ReadHunyuanNumber(fields, "moe_topk", 1);
  const int width = ReadHunyuanNumber(fields, "moe_intermediate_size", experts.width);
  if (width != experts.width) fields.Unsupported("moe_intermediate_size", width, std::to_string(experts.width));
  const int shared = ReadHunyuanNumber(fields, "num_shared_expert", 1);
  if (shared != 1) fields.Unsupported("num_shared_expert", shared, "1");
  a.feed_forward_dim = 0;
  SetExperts(experts, a);
  return a;
}

inline std::vector<DescribedModel> ReadHunyuanMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = HunyuanMoeRules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  fields.Expect("expert_shared_count", 1);
  ChangeExperts(a, [&](MixtureOfExperts& experts) {
    experts.shared_width = fields.Size("expert_shared_feed_forward_length", a.feed_forward_dim);
  });
  a.feed_forward_dim = 0;
  return {{a.model_type, Expand(a)}};
}

inline void TellSharedExpert(const ModelSpec&, nlohmann::json& fields) { fields["expert_shared_count"] = 1; }

inline constexpr Renaming kHunyuanNames[] = {{"self_attn.q_norm.", "self_attn.query_layernorm."},
                                             {"self_attn.k_norm.", "self_attn.key_layernorm."},
                                             {"mlp.gate.", "mlp.gate.wg."},
                                             {"mlp.shared_expert.", "mlp.shared_mlp."}};

inline constexpr PassedFields kHunyuanPassedJson[] = {
    {"which tokens have a role", "", "eod_token_id pad_id text_start_id text_end_id im_start_id im_end_id"},
    {"queries and keys are normalised", "", "use_qk_norm", true},
    {"each layer has keys and values of its own", "", "use_cla", false},
    {"counts where layers share keys and values, and is refused with them", "", "cla_share_factor"},
    {"the size of heads, which head_dim says", "", "attention_head_dim"},
    {"norms are RMSNorms", "", "norm_type", "rms"},
    {"the head gives logits of tokens", "", "add_classification_head", false},
    {"queries and keys have positions", "", "use_rotary_pos_emb", true},
    {"a feed-forward layer beside the experts", "hunyuan_v1_moe", "use_mixed_mlp_moe", true},
    {"the weights of the chosen experts add up to 1", "hunyuan_v1_moe", "norm_topk_prob", true},
    {"experts are in no groups", "hunyuan_v1_moe", "group_limited_greedy n_group topk_group", false},
    {"the experts' weights are as they are", "hunyuan_v1_moe", "routed_scaling_factor", 1.0},
    {"the experts' weights are as they are", "hunyuan_v1_moe", "routed_scaling_factor", false},
    {"how the model is trained", "hunyuan_v1_moe", "moe_drop_tokens moe_random_routing_dropped_token"},
    {"positions are those of text", "", "position_embedding_xdrope", false},
    {"parameters of YaRN, which the type of the RoPE is not", "",
     "rope_scaling.beta_fast rope_scaling.beta_slow rope_scaling.mscale rope_scaling.mscale_all_dim "
     "rope_scaling.factor rope_parameters.beta_fast rope_parameters.beta_slow rope_parameters.mscale "
     "rope_parameters.mscale_all_dim rope_parameters.factor"}};

inline constexpr PassedFields kHunyuanPassedGguf[] = {
    {"the weights of the chosen experts add up to 1", "hunyuan-moe", "expert_weights_norm", true},
    {"experts are chosen by a softmax", "hunyuan-moe", "expert_gating_func", 1.0}};

inline constexpr ModelType kHunyuanTypes[] = {
    {.name = HunyuanDenseFamily::kModelType, .read = ReadTransformerWith<HunyuanDenseRules>},
    {.name = HunyuanMoeFamily::kModelType, .read = ReadHunyuanMoe}};

inline constexpr GgufArchitecture kHunyuanArchitectures[] = {
    {.name = "hunyuan-dense", .read = ReadGgufWith<HunyuanDenseRules>, .is_written = true},
    {.name = "hunyuan-moe", .read = ReadHunyuanMoeGguf, .is_written = true, .tell = TellSharedExpert}};

struct HunyuanRow {
  static constexpr FamilyRow kRow = {.name = "Hunyuan, dense and with experts",
                                     .special = "QK-norm after RoPE, a feed-forward layer beside the experts",
                                     .model_types = kHunyuanTypes,
                                     .architectures = kHunyuanArchitectures,
                                     .names = kHunyuanNames,
                                     .passed_json = kHunyuanPassedJson,
                                     .passed_gguf = kHunyuanPassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_HUNYUAN_DETAIL_FAMILY_H_
