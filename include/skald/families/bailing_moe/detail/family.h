// SPDX-License-Identifier: Apache-2.0
//
// Ling and Ring: their row of the registry, and the readers of 2.0.

#ifndef SKALD_FAMILIES_BAILING_MOE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_BAILING_MOE_DETAIL_FAMILY_H_

#include <vector>

#include "skald/families/bailing_moe/bailing_moe.h"
#include "skald/families/bailing_moe/detail/first_bailing_moe.h"
#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules BailingMoeRules() { return {.implied = ShortFormOf<BailingMoeFamily>(), .may_rotate_partly = true}; }

inline MixtureOfExperts ReadBailingExperts(const JsonFields& fields) {
  if (fields.Find("score_function") == nullptr) fields.Missing("score_function");
  fields.Expect("score_function", "sigmoid");
  MixtureOfExperts experts =
      ReadExperts(fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size", DeepSeekV3Experts());
  experts.groups = fields.Integer("n_group", 1, experts.experts, 1);
  experts.chosen_groups = fields.Integer("topk_group", 1, experts.groups, 1);
  SetNormalized(experts.chosen > 1, experts);
  experts.weight_scale = static_cast<float>(fields.Positive("routed_scaling_factor"));
  experts.shared_width = fields.Integer("num_shared_experts", 0, kMaxSharedExperts, 0) * experts.width;
  return experts;
}

inline TextModel ReadBailingMoe(const JsonFields& fields) {
  if (IsFirstBailingMoe(fields)) return ReadFirstBailingMoe(fields);
  ShortForm a = ReadTransformer(fields, BailingMoeRules());
  a.qkv_bias = fields.Flag("use_qkv_bias", false);
  a.attention_output_bias = fields.Flag("use_bias", false);
  a.qk_norm = fields.Flag("use_qk_norm", false);
  SetExperts(ReadBailingExperts(fields), a);
  ReadFirstDenseLayers(fields, "first_k_dense_replace", a);
  return a;
}

inline std::vector<DescribedModel> ReadBailingMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = BailingMoeRules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  a.qk_norm = facts.has_query_norm;
  AddGgufDeepSeekV3Experts(fields, /*is_glm=*/false, a);
  ChangeExperts(a, [&](MixtureOfExperts& experts) {
    if (experts.shared_width > 0) {
      experts.shared_width = fields.Size("expert_shared_feed_forward_length", experts.shared_width);
    }
  });
  return {{a.model_type, Expand(a)}};
}

// MLX stacks experts, and has the router within a module.
inline constexpr Renaming kBailingMoeNames[] = {{"feed_forward_norm.", "post_attention_layernorm."},
                                                {"self_attn.q_proj.", "attention.query_key_value."},
                                                {"self_attn.k_proj.", "attention.query_key_value."},
                                                {"self_attn.v_proj.", "attention.query_key_value."},
                                                {"self_attn.q_norm.", "attention.query_layernorm."},
                                                {"self_attn.k_norm.", "attention.key_layernorm."},
                                                {"self_attn.o_proj.", "attention.dense."},
                                                {"mlp.gate.e_score_correction_bias", "mlp.gate.expert_bias"},
                                                {"mlp.gate.weight", "mlp.gate.weight"},
                                                {"mlp.gate.weight", "mlp.gate.gate_proj.weight"},
                                                {"mlp.shared_expert.", "mlp.shared_experts."},
                                                {"mlp.experts.gate_proj.", "mlp.experts.#.gate_proj."},
                                                {"mlp.experts.up_proj.", "mlp.experts.#.up_proj."},
                                                {"mlp.experts.down_proj.", "mlp.experts.#.down_proj."},
                                                {"mlp.experts.gate_proj.", "mlp.switch_mlp.gate_proj."},
                                                {"mlp.experts.up_proj.", "mlp.switch_mlp.up_proj."},
                                                {"mlp.experts.down_proj.", "mlp.switch_mlp.down_proj."}};

inline constexpr TensorNames kBailingMoeTensors[] = {
    {.body = "model.", .head = "lm_head.", .embedding = "word_embeddings.weight", .renamings = kBailingMoeNames}};

inline constexpr PassedFields kBailingMoePassedJson[] = {
    {"how the model is trained", "", "embedding_dropout output_dropout mtp_loss_scaling_factor"},
    {"what the router is computed in", "", "router_dtype"},
    {"experts are chosen by their scores and biases", "", "moe_router_enable_expert_bias", true},
    {"likewise", "", "topk_method", "noaux_tc"},
    {"the weights of the chosen experts add up to 1", "", "norm_topk_prob", true},
    {"num_shared_experts and moe_intermediate_size say it", "", "moe_shared_expert_intermediate_size"},
    {"only counts with windows, of which there are none", "", "max_window_layers"},
    {"norms are RMSNorms", "", "use_rmsnorm", true},
    {"the head is as it is; read where the first models have it", "", "norm_head", false},
    {"the softmax of scores is as it is", "", "norm_softmax", false}};

inline constexpr ModelType kBailingMoeTypes[] = {{.name = BailingMoeFamily::kModelType, .read = ReadBailingMoe}};

inline constexpr GgufArchitecture kBailingMoeArchitectures[] = {{.name = "bailingmoe",
                                                                 .read = ReadFirstBailingMoeGguf,
                                                                 .has_rope_pairs = true,
                                                                 .is_written = true,
                                                                 .is_of = HasSoftmaxExperts,
                                                                 .tell = TellFirstBailingMoe,
                                                                 .as_written = WithoutNormedHead},
                                                                {.name = "bailingmoe2",
                                                                 .read = ReadBailingMoeGguf,
                                                                 .is_written = true,
                                                                 .is_of = HasSigmoidExperts,
                                                                 .tell = TellLaterExpertsBeside,
                                                                 .written_names = kJoinedGgufNames}};

struct BailingMoeRow {
  static constexpr FamilyRow kRow = {
      .name = "Ling, Ring, Ling 2.0, Ring 2.0",
      .special =
          "QK-norm, RoPE of half of each head, experts in groups weighed by sigmoids; before 2.0 by a softmax, "
          "heads with normed columns",
      .original = "transformers, the authors' code",
      .model_types = kBailingMoeTypes,
      .architectures = kBailingMoeArchitectures,
      .own_names = kBailingMoeTensors,
      .passed_json = kBailingMoePassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_BAILING_MOE_DETAIL_FAMILY_H_
