// SPDX-License-Identifier: Apache-2.0
//
// gpt-oss: its row of the registry.

#ifndef SKALD_FAMILIES_GPT_OSS_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GPT_OSS_DETAIL_FAMILY_H_

#include "skald/families/gpt_oss/detail/gpt_oss.h"
#include "skald/families/gpt_oss/gpt_oss.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::internal {

inline constexpr FactRenaming kGptOssFactNames[] = {{"num_experts", "num_local_experts"},
                                                    {"moe_intermediate_size", "intermediate_size"}};

// Experts as floats, and as they are published.
inline constexpr Renaming kGptOssNames[] = {
    {"feed_forward_norm.", "post_attention_layernorm."},
    {"mlp.gate.", "mlp.router."},
    {"mlp.experts.gate_proj.bias", "mlp.experts.gate_up_proj_bias", {.by_turns = true}},
    {"mlp.experts.up_proj.bias", "mlp.experts.gate_up_proj_bias", {.by_turns = true}},
    {"mlp.experts.down_proj.bias", "mlp.experts.down_proj_bias"},
    {"mlp.experts.gate_proj.weight", "mlp.experts.gate_up_proj", {.by_turns = true, .transposed = true}},
    {"mlp.experts.up_proj.weight", "mlp.experts.gate_up_proj", {.by_turns = true, .transposed = true}},
    {"mlp.experts.down_proj.weight", "mlp.experts.down_proj", {.transposed = true}},
    {"mlp.experts.gate_proj.weight", "mlp.experts.gate_up_proj_blocks", {.by_turns = true, .mxfp4 = true}},
    {"mlp.experts.up_proj.weight", "mlp.experts.gate_up_proj_blocks", {.by_turns = true, .mxfp4 = true}},
    {"mlp.experts.down_proj.weight", "mlp.experts.down_proj_blocks", {.mxfp4 = true}}};

inline constexpr TensorNames kGptOssTensors[] = {
    {.body = "model.", .head = "lm_head.", .renamings = kGptOssNames, .mark = "self_attn.sinks"}};

inline constexpr Renaming kGptOssGgufNames[] = {{"feed_forward_norm.", "post_attention_norm."},
                                                {"self_attn.sinks", "attn_sinks.weight"}};

inline constexpr PassedFields kGptOssPassedGguf[] = {
    {"the width of layers without experts, of which there are none; read if there are", "", "feed_forward_length"},
    {"the softmax of the chosen experts, as in all published models", "", "expert_weights_norm", true}};

inline constexpr ModelType kGptOssTypes[] = {
    {.name = GptOssFamily::kModelType, .read = ReadOne<ReadGptOss>, .fact_names = kGptOssFactNames}};

inline constexpr GgufArchitecture kGptOssArchitectures[] = {
    {.name = "gpt-oss", .read = ReadOneGguf<ReadGptOssGguf>, .is_written = true, .written_names = kGptOssGgufNames}};

struct GptOssRow {
  static constexpr FamilyRow kRow = {
      .name = "gpt-oss",
      .special = "attention sinks, YaRN, experts with biases and a clamped gate; MXFP4 as published",
      .original = "transformers, the authors' code",
      .model_types = kGptOssTypes,
      .architectures = kGptOssArchitectures,
      .gguf_names = kGptOssGgufNames,
      .own_names = kGptOssTensors,
      .passed_gguf = kGptOssPassedGguf};
  using Published = ConfigTypes<GptOss_20B, GptOss_120B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GPT_OSS_DETAIL_FAMILY_H_
