// SPDX-License-Identifier: Apache-2.0
//
// Phi-3: its row of the registry.

#ifndef SKALD_FAMILIES_PHI3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_PHI3_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/phi3/phi3.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Phi3Rules() {
  return {.implied = ShortFormOf<Phi3Family>(),
          .layers = LayerRule::kAllIfGiven,
          .kv_heads_given = false,
          .may_rotate_partly = true};
}

// Tensors that hold several matrices, one below the other.
inline constexpr Renaming kPhi3Names[] = {{"self_attn.q_proj.", "self_attn.qkv_proj."},
                                          {"self_attn.k_proj.", "self_attn.qkv_proj."},
                                          {"self_attn.v_proj.", "self_attn.qkv_proj."},
                                          {"mlp.gate_proj.", "mlp.gate_up_proj."},
                                          {"mlp.up_proj.", "mlp.gate_up_proj."}};

inline constexpr Renaming kPhi3GgufNames[] = {{"self_attn.q_proj.", "attn_qkv."},
                                              {"self_attn.k_proj.", "attn_qkv."},
                                              {"self_attn.v_proj.", "attn_qkv."},
                                              {"mlp.gate_proj.", "ffn_up."}};

inline constexpr PassedFields kPhi3PassedJson[] = {
    {"every layer attends alike", "", "full_attn_mod interpolate_factor", 1.0}};

inline constexpr ModelType kPhi3Types[] = {{.name = Phi3Family::kModelType, .read = ReadTransformerWith<Phi3Rules>}};

inline constexpr GgufArchitecture kPhi3Architectures[] = {
    {.name = "phi3", .read = ReadGgufWith<Phi3Rules>, .is_written = true, .written_names = kPhi3GgufNames}};

struct Phi3Row {
  static constexpr FamilyRow kRow = {.name = "Phi-3, Phi-4-mini",
                                     .special = "joined tensors, LongRoPE of a part of each head",
                                     .model_types = kPhi3Types,
                                     .architectures = kPhi3Architectures,
                                     .names = kPhi3Names,
                                     .gguf_names = kPhi3GgufNames,
                                     .passed_json = kPhi3PassedJson};
  using Published = ConfigTypes<Phi3_Mini_4K, Phi4_Mini>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_PHI3_DETAIL_FAMILY_H_
