// SPDX-License-Identifier: Apache-2.0
//
// OLMoE: its row of the registry.

#ifndef SKALD_FAMILIES_OLMOE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_OLMOE_DETAIL_FAMILY_H_

#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/olmoe/olmoe.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules OlmoeRules() {
  return {.implied = ShortFormOf<OlmoeFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .experts = ExpertRule::kEveryLayer};
}

inline TextModel ReadOlmoe(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, OlmoeRules());
  ChangeExperts(a, [&](MixtureOfExperts& experts) { experts.normalized = fields.Flag("norm_topk_prob", false); });
  return a;
}

// llama.cpp never makes the weights of the chosen experts add up to 1.
inline std::vector<DescribedModel> ReadOlmoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, OlmoeRules(), facts);
  ChangeExperts(a, [](MixtureOfExperts& experts) { experts.normalized = false; });
  return {{a.model_type, Expand(a)}};
}

inline constexpr PassedFields kOlmoePassedGguf[] = {
    {"a width, which the tensors have or do not fit", "", "expert_feed_forward_length"},
    {"the softmax of all experts, as in all published models", "", "expert_weights_norm", false},
    {"experts are chosen by a softmax", "", "expert_gating_func", 1.0}};

inline constexpr ModelType kOlmoeTypes[] = {{.name = OlmoeFamily::kModelType, .read = ReadOlmoe}};

inline constexpr GgufArchitecture kOlmoeArchitectures[] = {
    {.name = "olmoe", .read = ReadOlmoeGguf, .is_written = true}};

struct OlmoeRow {
  static constexpr FamilyRow kRow = {.name = "OLMoE",
                                     .special = "QK-norm over whole projections, mixtures of experts",
                                     .model_types = kOlmoeTypes,
                                     .architectures = kOlmoeArchitectures,
                                     .passed_gguf = kOlmoePassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_OLMOE_DETAIL_FAMILY_H_
