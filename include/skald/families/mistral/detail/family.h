// SPDX-License-Identifier: Apache-2.0
//
// Mistral and Mixtral: their row of the registry.

#ifndef SKALD_FAMILIES_MISTRAL_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MISTRAL_DETAIL_FAMILY_H_

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/mistral/mistral.h"
#include "skald/families/mistral/mixtral.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::internal {

inline FamilyRules MistralRules() { return {.implied = ShortFormOf<MistralFamily>(), .layers = LayerRule::kAll}; }

inline FamilyRules MixtralRules() {
  return {
      .implied = ShortFormOf<MixtralFamily>(), .layers = LayerRule::kAllIfGiven, .experts = ExpertRule::kEveryLayer};
}

// GGUF files say that they are Llama, which has no window.
inline constexpr std::string_view kMistralUntold[] = {"attention.sliding_window", "layer_types"};

inline constexpr FactRenaming kMixtralFactNames[] = {{"num_experts", "num_local_experts"},
                                                     {"moe_intermediate_size", "intermediate_size"}};

inline constexpr Renaming kMistralNames[] = {{"mlp.experts.gate_proj.", "block_sparse_moe.experts.#.w1."},
                                             {"mlp.experts.up_proj.", "block_sparse_moe.experts.#.w3."},
                                             {"mlp.experts.down_proj.", "block_sparse_moe.experts.#.w2."},
                                             {"mlp.gate.", "block_sparse_moe.gate."}};

inline constexpr ModelType kMistralTypes[] = {
    {.name = MistralFamily::kModelType,
     .read = ReadTransformerWith<MistralRules>,
     .outer = "mistral3",
     .untold = kMistralUntold},
    {.name = MixtralFamily::kModelType, .read = ReadTransformerWith<MixtralRules>, .fact_names = kMixtralFactNames}};

inline constexpr std::string_view kMistralShared[] = {"llama", "mistral3"};

struct MistralRow {
  static constexpr FamilyRow kRow = {.name = "Mistral, Mistral Small 3, Mixtral",
                                     .special = "sliding window (v0.1); mixtures of experts",
                                     .model_types = kMistralTypes,
                                     .shared_architectures = kMistralShared,
                                     .names = kMistralNames};
  using Published = ConfigTypes<Mistral_7B_V0_1, Mistral_7B_V0_3, Mixtral_8x7B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MISTRAL_DETAIL_FAMILY_H_
