// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of the first Ling and Ring. Sources: models/ of
// https://github.com/inclusionAI/Ling (commit 5ccaeae), and llama.cpp (https://github.com/ggml-org/llama.cpp:
// conversion/bailingmoe.py, src/models/bailingmoe.cpp).

#ifndef SKALD_FAMILIES_BAILING_MOE_DETAIL_FIRST_BAILING_MOE_H_
#define SKALD_FAMILIES_BAILING_MOE_DETAIL_FIRST_BAILING_MOE_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "skald/families/bailing_moe/bailing_moe.h"
#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

// Ling-lite-base gives the size of a head as 0.
inline FamilyRules FirstBailingMoeRules() {
  return {.implied = ShortFormOf<FirstBailingMoeFamily>(), .head_dim_may_be_0 = true, .standard_epsilon = 1e-5};
}

// Files of the first models lack all of these; Ling 2.0's have them.
inline bool IsFirstBailingMoe(const JsonFields& fields) {
  for (const char* const name : {"score_function", "routed_scaling_factor", "n_group", "use_qk_norm"}) {
    if (fields.Contains(name)) return false;
  }
  return true;
}

// One expert alone keeps its weight.
inline ShortForm ReadFirstBailingMoe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, FirstBailingMoeRules());
  a.qkv_bias = fields.Flag("use_qkv_bias", false);
  a.attention_output_bias = fields.Flag("use_bias", true);
  a.normed_head = fields.Flag("norm_head", false);
  if (a.normed_head) fields.Expect("tie_word_embeddings", false);
  MixtureOfExperts experts = ReadExperts(fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  experts.normalized = fields.Flag("norm_topk_prob", true) && experts.chosen > 1;
  experts.shared_width = fields.Integer("num_shared_experts", 0, kMaxSharedExperts, 0) * experts.width;
  SetExperts(experts, a);
  ReadFirstDenseLayers(fields, "first_k_dense_replace", a, 0);
  return a;
}

// llama.cpp reads experts in every layer, whatever files say of dense ones, and always some that rows share.
inline std::vector<DescribedModel> ReadFirstBailingMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = FirstBailingMoeRules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  a.qkv_bias = facts.has_query_bias;
  fields.Expect("leading_dense_block_count", 0);
  fields.Expect("expert_gating_func", 1);
  ChangeExperts(a, [&](MixtureOfExperts& experts) {
    experts.normalized = fields.Flag("expert_weights_norm", false);
    experts.weight_scale = static_cast<float>(fields.Positive("expert_weights_scale", 1.0));
    experts.shared_width = fields.Integer("expert_shared_count", 1, kMaxSharedExperts) * experts.width;
  });
  return {{a.model_type, Expand(a)}};
}

// Older versions of llama.cpp ask for the scale.
inline void TellFirstBailingMoe(const ModelSpec& spec, nlohmann::json& fields) {
  TellLaterExperts(spec, fields);
  fields["expert_weights_scale"] = ExpertLayers(spec).experts.weight_scale;
}

// The columns of heads are divided by their norms before they are written.
inline ModelSpec WithoutNormedHead(ModelSpec spec) {
  spec.normed_head = false;
  return spec;
}

inline bool HasSoftmaxExperts(const ModelSpec& spec) { return !ExpertLayers(spec).experts.sigmoid; }
inline bool HasSigmoidExperts(const ModelSpec& spec) { return !HasSoftmaxExperts(spec); }

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_BAILING_MOE_DETAIL_FIRST_BAILING_MOE_H_
