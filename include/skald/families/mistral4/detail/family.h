// SPDX-License-Identifier: Apache-2.0
//
// Mistral Small 4: its row of the registry.

#ifndef SKALD_FAMILIES_MISTRAL4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MISTRAL4_DETAIL_FAMILY_H_

#include <optional>

#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/deepseek_v3/detail/family.h"
#include "skald/families/mistral4/mistral4.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline DeepSeekV3Sizes Mistral4Sizes() { return {.experts = MixtureOfExperts()}; }

// Queries grow once for each context of the first training, which YaRN has.
inline void SetGrowth(double growth, LatentAttention& attention) {
  attention.query_growth = static_cast<float>(growth);
  attention.query_growth_context = static_cast<int>(attention.rope.original_context);
}

inline DescribedModel ReadMistral4(const JsonFields& fields) {
  constexpr const char* kGrowth = "llama_4_scaling_beta";
  DeepSeekV3Sizes sizes =
      ReadDeepSeekV3Sizes(fields, Mistral4Sizes(), /*standard_dense_layers=*/0, /*head_is_whole=*/true);
  const std::optional<JsonFields> rope = fields.Object("rope_parameters");
  if (rope && rope->Find(kGrowth) != nullptr) {
    const bool is_yarn = sizes.attention.rope.scaling == RopeScaling::kYarn;
    if (!is_yarn) rope->Unsupported(kGrowth, rope->Positive(kGrowth), "one with YaRN");
    SetGrowth(rope->Positive(kGrowth), sizes.attention);
  }
  return {Mistral4Family::kModelType, DeepSeekV3Spec(sizes)};
}

// The converter may leave out how much queries grow: it is as much in every published model.
inline DescribedModel ReadMistral4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  DeepSeekV3Sizes sizes = ReadGgufDeepSeek2Sizes(fields, facts, Mistral4Sizes());
  const double growth = fields.Positive("attention.temperature_scale", 0.1);
  if (sizes.attention.rope.scaling == RopeScaling::kYarn) SetGrowth(growth, sizes.attention);
  fields.Expect("attention.temperature_length", sizes.attention.query_growth_context);
  return {Mistral4Family::kModelType, DeepSeekV3Spec(sizes)};
}

inline void TellMistral4(const ModelSpec& spec, nlohmann::json& fields) {
  TellDeepSeek2(spec, fields);
  const LatentAttention attention = *FindLayer<LatentAttention>(spec);
  if (attention.query_growth == 0.0f) return;
  fields["attention.temperature_scale"] = attention.query_growth;
  fields["attention.temperature_length"] = attention.query_growth_context;
}

inline constexpr PassedFields kMistral4PassedJson[] = {
    {"the older form of mlp_layer_types, which is read where that is missing", "", "first_k_dense_replace"},
    {"how long a text may be", "", "rope_parameters.max_position_embeddings"}};

inline constexpr ModelType kMistral4Types[] = {
    {.name = Mistral4Family::kModelType, .read = ReadOne<ReadMistral4>, .fact_names = kDeepSeekV3FactNames}};

inline constexpr GgufArchitecture kMistral4Architectures[] = {{.name = "mistral4",
                                                               .read = ReadOneGguf<ReadMistral4Gguf>,
                                                               .is_written = true,
                                                               .tell = TellMistral4,
                                                               .change_draft = ChangeLatentQueries}};

struct Mistral4Row {
  static constexpr FamilyRow kRow = {.name = "Mistral Small 4",
                                     .special = "latent attention, queries that grow with their position, experts",
                                     .model_types = kMistral4Types,
                                     .architectures = kMistral4Architectures,
                                     .passed_json = kMistral4PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MISTRAL4_DETAIL_FAMILY_H_
