// SPDX-License-Identifier: Apache-2.0
//
// Ministral 3: its row of the registry. GGUF files of Mistral Small 3 say that they are of its architecture.

#ifndef SKALD_FAMILIES_MINISTRAL3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MINISTRAL3_DETAIL_FAMILY_H_

#include <optional>
#include <utility>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/families/config/model_config.h"
#include "skald/families/ministral3/ministral3.h"
#include "skald/families/mistral/detail/family.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/attention.h"

namespace skald::internal {

inline FamilyRules Ministral3Rules() {
  return {.implied = ShortFormOf<Ministral3Family>(), .layers = LayerRule::kAllIfGiven};
}

// Returns a model whose queries grow once for each context of the first training, which YaRN has.
inline DescribedModel WithGrowingQueries(const ShortForm& a, double growth) {
  ModelSpec spec = Expand(a);
  for (Block& block : spec.blocks) {
    for (LayerSpec& layer : block.layers) {
      if (layer.As<Attention>() == nullptr) continue;
      Attention attention = *layer.As<Attention>();
      attention.query_growth = static_cast<float>(growth);
      attention.query_growth_context = static_cast<int>(a.rope.original_context);
      layer = attention;
    }
  }
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadMinistral3(const JsonFields& fields) {
  constexpr const char* kGrowth = "llama_4_scaling_beta";
  const ShortForm a = ReadTransformer(fields, Ministral3Rules());
  const std::optional<JsonFields> rope = fields.Object("rope_parameters");
  if (!rope || rope->Find(kGrowth) == nullptr) return a;
  if (a.rope.scaling != RopeScaling::kYarn) rope->Unsupported(kGrowth, rope->Positive(kGrowth), "one with YaRN");
  return WithGrowingQueries(a, rope->Positive(kGrowth));
}

inline std::vector<DescribedModel> ReadMistral3Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr const char *kGrowth = "attention.temperature_scale", *kMultiplier = "rope.scaling.yarn_log_multiplier";
  ShortForm a = ReadGgufModel(fields, Ministral3Rules(), facts);
  if (a.rope.scaling != RopeScaling::kYarn) {
    a.model_type = MistralFamily::kModelType;
    return {{a.model_type, Expand(a)}};
  }
  if (fields.Find(kMultiplier) != nullptr) {
    a.rope.attention_factor /= static_cast<float>(YarnAttentionFactor(a.rope.factor, fields.Positive(kMultiplier)));
  }
  if (fields.Find(kGrowth) == nullptr) return {{a.model_type, Expand(a)}};
  return {WithGrowingQueries(a, fields.Positive(kGrowth))};
}

inline constexpr PassedFields kMinistral3PassedJson[] = {
    {"how long a text may be", "", "rope_parameters.max_position_embeddings"}};

inline constexpr ModelType kMinistral3Types[] = {{.name = Ministral3Family::kModelType, .read = ReadMinistral3}};

inline constexpr GgufArchitecture kMinistral3Architectures[] = {
    {.name = "mistral3", .read = ReadMistral3Gguf, .has_rope_pairs = true, .is_written = true}};

struct Ministral3Row {
  static constexpr FamilyRow kRow = {.name = "Ministral 3",
                                     .special = "YaRN, queries that grow with their position",
                                     .model_types = kMinistral3Types,
                                     .architectures = kMinistral3Architectures,
                                     .passed_json = kMinistral3PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MINISTRAL3_DETAIL_FAMILY_H_
