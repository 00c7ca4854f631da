// SPDX-License-Identifier: Apache-2.0
//
// Qwen3-Next and Qwen 3.5: their row of the registry.

#ifndef SKALD_FAMILIES_QWEN3_NEXT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_QWEN3_NEXT_DETAIL_FAMILY_H_

#include "skald/families/qwen3_next/detail/qwen3_next.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::internal {

inline constexpr Renaming kQwen3NextNames[] = {
    {"self_attn.gated_q_proj.", "self_attn.q_proj.", {.interleaved = true}},
    {"linear_attn.in_proj_qkv.", "linear_attn.in_proj_qkv."},
    {"linear_attn.in_proj_z.", "linear_attn.in_proj_z."},
    {"linear_attn.in_proj_b.", "linear_attn.in_proj_b."},
    {"linear_attn.in_proj_a.", "linear_attn.in_proj_a."},
    {"linear_attn.in_proj_qkv.", "linear_attn.in_proj_qkvz.", {.interleaved = true}},
    {"linear_attn.in_proj_z.", "linear_attn.in_proj_qkvz.", {.interleaved = true}},
    {"linear_attn.in_proj_b.", "linear_attn.in_proj_ba.", {.interleaved = true}},
    {"linear_attn.in_proj_a.", "linear_attn.in_proj_ba.", {.interleaved = true}}};

inline constexpr Renaming kQwen3NextGgufNames[] = {{"feed_forward_norm.", "post_attention_norm."},
                                                   {"self_attn.gated_q_proj.", "attn_q.", {.interleaved = true}},
                                                   {"linear_attn.in_proj_qkv.", "attn_qkv."},
                                                   {"linear_attn.in_proj_z.", "attn_gate."},
                                                   {"linear_attn.in_proj_b.", "ssm_beta."},
                                                   {"linear_attn.in_proj_a.", "ssm_alpha."},
                                                   {"linear_attn.in_proj_b.", "ssm_ba.", {.interleaved = true}},
                                                   {"linear_attn.in_proj_a.", "ssm_ba.", {.interleaved = true}},
                                                   {"linear_attn.conv1d.", "ssm_conv1d."},
                                                   {"linear_attn.A_log", "ssm_a"},
                                                   {"linear_attn.dt_bias", "ssm_dt.bias"},
                                                   {"linear_attn.norm.", "ssm_norm."},
                                                   {"linear_attn.out_proj.", "ssm_out."}};

inline constexpr PassedFields kQwen3NextPassedJson[] = {
    {"only counts with \"layer_types\" missing, where it is read", "", "full_attention_interval"},
    {"the width of layers without experts, of which there are none; read if there are", "qwen3_next qwen3_5_moe_text",
     "intermediate_size"},
    {"of a mixture of experts, which the family does not have", "qwen3_5_text", "mlp_only_layers"},
    {"positions in images; a text's are the same in every section", "qwen3_5_text qwen3_5_moe_text",
     "rope_parameters.mrope_section rope_parameters.mrope_interleaved rope_scaling.mrope_section "
     "rope_scaling.mrope_interleaved"}};

inline constexpr PassedFields kQwen3NextPassedGguf[] = {
    {"the width of layers without experts, of which there are none; read if there are", "qwen3next qwen35moe",
     "feed_forward_length"},
    {"the softmax of the chosen experts, as in all published models", "qwen3next qwen35moe", "expert_weights_norm",
     true},
    {"experts are chosen by a softmax", "qwen3next qwen35moe", "expert_gating_func", 1.0}};

inline constexpr ChangedWeights kQwenHeads = {Assumption::kHeadsInGroups, "value heads in another order"};

inline constexpr ModelType kQwen3NextTypes[] = {
    {.name = Qwen3NextFamily::kModelType, .read = ReadOne<ReadQwen3Next>},
    {.name = Qwen3_5Family::kModelType, .read = ReadOne<ReadQwen3_5>, .outer = "qwen3_5"},
    {.name = Qwen3_5MoeFamily::kModelType, .read = ReadOne<ReadQwen3_5Moe>, .outer = "qwen3_5_moe"}};

inline constexpr GgufArchitecture kQwen3NextArchitectures[] = {
    {.name = "qwen3next", .read = ReadOneGguf<ReadQwen3NextGguf>},
    {.name = "qwen35", .read = ReadOneGguf<ReadQwen3_5Gguf>, .changed = kQwenHeads},
    {.name = "qwen35moe", .read = ReadOneGguf<ReadQwen3_5MoeGguf>, .changed = kQwenHeads}};

struct Qwen3NextRow {
  static constexpr FamilyRow kRow = {.name = "Qwen3-Next, Qwen 3.5 (text)",
                                     .special = "gated delta nets, attention with output gates, a gated shared expert",
                                     .model_types = kQwen3NextTypes,
                                     .architectures = kQwen3NextArchitectures,
                                     .names = kQwen3NextNames,
                                     .gguf_names = kQwen3NextGgufNames,
                                     .passed_json = kQwen3NextPassedJson,
                                     .passed_gguf = kQwen3NextPassedGguf};
  using Published =
      ConfigTypes<Qwen3Next_80B_A3B, Qwen3_5_0_8B, Qwen3_5_2B, Qwen3_5_4B, Qwen3_5_9B, Qwen3_5_27B, Qwen3_5_35B_A3B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_QWEN3_NEXT_DETAIL_FAMILY_H_
