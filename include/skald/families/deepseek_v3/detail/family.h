// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V3 and GLM-4.7-Flash: their row of the registry.

#ifndef SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_FAMILY_H_

#include <cmath>

#include "skald/base/mathematics/portable_log.h"
#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline constexpr FactRenaming kDeepSeekV3FactNames[] = {
    {"num_experts", "n_routed_experts"},
    {"shared_expert_intermediate_size", "n_shared_experts * moe_intermediate_size"}};

// Rows with and without positions, one head after the other; the two matrices that make keys and values of a latent,
// the first one as the second reads it.
inline constexpr RowLayout kInPairs = {.interleaved = true, .pairs_adjacent = true};
inline constexpr RowLayout kKeysInRows = {.transposed = true, .interleaved = true, .joined = true};
inline constexpr RowLayout kValuesInRows = {.interleaved = true, .joined = true};

inline constexpr Renaming kDeepSeekV3Names[] = {{"mlp.shared_expert.", "mlp.shared_experts."},
                                                {"self_attn.q_b_proj.", "self_attn.q_b_proj.", kInPairs},
                                                {"self_attn.q_b_proj.", "self_attn.q_proj.", kInPairs},
                                                {"self_attn.kv_a_proj.", "self_attn.kv_a_proj_with_mqa.", kInPairs},
                                                {"self_attn.k_b_proj.", "self_attn.kv_b_proj.", kKeysInRows},
                                                {"self_attn.v_b_proj.", "self_attn.kv_b_proj.", kValuesInRows}};

// Older files have both halves of the second step in one tensor.
inline constexpr Renaming kDeepSeekV3GgufNames[] = {{"self_attn.q_a_proj.", "attn_q_a."},
                                                    {"self_attn.q_a_layernorm.", "attn_q_a_norm."},
                                                    {"self_attn.q_b_proj.", "attn_q_b.", kInPairs},
                                                    {"self_attn.q_b_proj.", "attn_q.", kInPairs},
                                                    {"self_attn.kv_a_proj.", "attn_kv_a_mqa.", kInPairs},
                                                    {"self_attn.kv_a_layernorm.", "attn_kv_a_norm."},
                                                    {"self_attn.k_b_proj.", "attn_k_b."},
                                                    {"self_attn.v_b_proj.", "attn_v_b."},
                                                    {"self_attn.k_b_proj.", "attn_kv_b.", kKeysInRows},
                                                    {"self_attn.v_b_proj.", "attn_kv_b.", kValuesInRows}};

inline constexpr PassedFields kDeepSeekV3PassedJson[] = {
    {"the older form of mlp_layer_types, which is read where that is missing", "", "first_k_dense_replace"}};

inline constexpr ModelType kDeepSeekV3Types[] = {
    {.name = DeepSeekV3Family::kModelType, .read = ReadOne<ReadDeepSeekV3>, .fact_names = kDeepSeekV3FactNames},
    {.name = Glm4MoeLiteFamily::kModelType, .read = ReadOne<ReadGlm4MoeLite>, .fact_names = kDeepSeekV3FactNames}};

// Of YaRN files have what scores are multiplied by as a factor of the logarithm; that of cosines and sines they cancel.
inline void TellDeepSeek2(const ModelSpec& spec, nlohmann::json& fields) {
  constexpr double kDigits = 1e6;  // factors are short decimals
  TellLaterExperts(spec, fields);
  const LatentAttention attention = *FindLayer<LatentAttention>(spec);
  if (attention.rope.scaling != RopeScaling::kYarn || attention.rope.attention_factor != 1.0f) return;
  const double multiplier = (double{attention.mscale} - 1.0) / PortableLog(attention.rope.factor);
  fields["rope.scaling.yarn_log_multiplier"] = Rounded(std::round(multiplier * kDigits) / kDigits);
  fields.erase("rope.scaling.attn_factor");
}

inline constexpr GgufArchitecture kDeepSeekV3Architectures[] = {{.name = "deepseek2",
                                                                 .read = ReadOneGguf<ReadDeepSeek2Gguf>,
                                                                 .is_written = true,
                                                                 .tell = TellDeepSeek2,
                                                                 .change_draft = ChangeLatentQueries}};

struct DeepSeekV3Row {
  static constexpr FamilyRow kRow = {
      .name = "DeepSeek-V3, GLM-4.7-Flash",
      .special =
          "latent attention: the cache keeps one compressed vector for each token; experts chosen in groups, YaRN",
      .original = "transformers, the authors' code",
      .model_types = kDeepSeekV3Types,
      .architectures = kDeepSeekV3Architectures,
      .names = kDeepSeekV3Names,
      .gguf_names = kDeepSeekV3GgufNames,
      .passed_json = kDeepSeekV3PassedJson};
  using Published = ConfigTypes<DeepSeekV3_671B, Glm4_7_Flash>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_FAMILY_H_
