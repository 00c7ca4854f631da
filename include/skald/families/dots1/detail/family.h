// SPDX-License-Identifier: Apache-2.0
//
// dots.llm1: its row of the registry.

#ifndef SKALD_FAMILIES_DOTS1_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_DOTS1_DETAIL_FAMILY_H_

#include <cstddef>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/deepseek_v3/detail/family.h"
#include "skald/families/dots1/dots1.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"

namespace skald::internal {

inline FamilyRules Dots1Rules() {
  return {.implied = ShortFormOf<Dots1Family>(), .kv_heads_given = false, .reads_attention_bias = true};
}

// Layers from max_window_layers on have a window, if the model has one. No published model has.
inline TextModel ReadDots1(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Dots1Rules());
  const int first = fields.Integer("max_window_layers", 0, kMaxLayers, 62);
  if (fields.Find("sliding_window") != nullptr && static_cast<size_t>(first) < a.layers.size()) {
    fields.Unsupported("max_window_layers", first, "num_hidden_layers or more");
  }
  AddDeepSeekV3Experts(fields, /*standard_dense_layers=*/0, a);
  ChangeExperts(a, [&](MixtureOfExperts& experts) { SetNormalized(fields.Flag("norm_topk_prob", false), experts); });
  return a;
}

inline std::vector<DescribedModel> ReadDots1Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = Dots1Rules();
  rules.experts = ExpertRule::kSomeLayers;
  ShortForm a = ReadGgufModel(fields, rules, facts);
  AddGgufDeepSeekV3Experts(fields, /*is_glm=*/false, a);
  return {{a.model_type, Expand(a)}};
}

inline constexpr ModelType kDots1Types[] = {
    {.name = Dots1Family::kModelType, .read = ReadDots1, .fact_names = kDeepSeekV3FactNames}};

inline constexpr GgufArchitecture kDots1Architectures[] = {
    {.name = "dots1", .read = ReadDots1Gguf, .is_written = true, .tell = TellLaterExperts}};

struct Dots1Row {
  static constexpr FamilyRow kRow = {.name = "dots.llm1",
                                     .special = "QK-norm, experts weighed by sigmoids and a shared one",
                                     .model_types = kDots1Types,
                                     .architectures = kDots1Architectures};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DOTS1_DETAIL_FAMILY_H_
