// SPDX-License-Identifier: Apache-2.0
//
// GLM-4.5 and its successors: their row of the registry.

#ifndef SKALD_FAMILIES_GLM4_MOE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GLM4_MOE_DETAIL_FAMILY_H_

#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/glm4_moe/glm4_moe.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"

namespace skald::internal {

inline FamilyRules Glm4MoeRules() {
  return {.implied = ShortFormOf<Glm4MoeFamily>(), .may_rotate_partly = true, .rotary_part = 0.5};
}

inline TextModel ReadGlm4Moe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Glm4MoeRules());
  a.qkv_bias = fields.Flag("attention_bias", false);
  a.qk_norm = fields.Flag("use_qk_norm", false);
  AddDeepSeekV3Experts(fields, /*standard_dense_layers=*/1, a);
  return a;
}

inline std::vector<DescribedModel> ReadGlm4MoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = Glm4MoeRules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  a.qkv_bias = facts.has_query_bias;
  a.qk_norm = facts.has_query_norm;
  AddGgufDeepSeekV3Experts(fields, /*is_glm=*/true, a);
  return {{a.model_type, Expand(a)}};
}

inline constexpr ModelType kGlm4MoeTypes[] = {
    {.name = Glm4MoeFamily::kModelType, .read = ReadGlm4Moe, .fact_names = kDeepSeekV3FactNames}};

inline constexpr Renaming kGlm4MoeWrittenNames[] = {{"feed_forward_norm.", "post_attention_norm."}};

inline constexpr GgufArchitecture kGlm4MoeArchitectures[] = {{.name = "glm4moe",
                                                              .read = ReadGlm4MoeGguf,
                                                              .is_written = true,
                                                              .tell = TellLaterExperts,
                                                              .written_names = kGlm4MoeWrittenNames}};

struct Glm4MoeRow {
  static constexpr FamilyRow kRow = {.name = "GLM-4.5 to 4.7",
                                     .special = "QKV bias, RoPE of half of each head, experts weighed by sigmoids",
                                     .model_types = kGlm4MoeTypes,
                                     .architectures = kGlm4MoeArchitectures};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GLM4_MOE_DETAIL_FAMILY_H_
