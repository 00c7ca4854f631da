// SPDX-License-Identifier: Apache-2.0
//
// RecurrentGemma: its row of the registry.

#ifndef SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_FAMILY_H_

#include "skald/families/readers/detail/family_row.h"
#include "skald/families/recurrent_gemma/detail/recurrent_gemma.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"

namespace skald::internal {

inline constexpr FactRenaming kRecurrentGemmaFactNames[] = {{"sliding_window", "attention_window_size + 1"},
                                                            {"layer_types", "block_types"},
                                                            {"final_logit_softcapping", "logits_soft_cap"},
                                                            {"kLruBlocks", "num_attention_heads"}};

inline constexpr Renaming kRecurrentGemmaNames[] = {{"input_layernorm.", "temporal_pre_norm."},
                                                    {"feed_forward_norm.", "channel_pre_norm."},
                                                    {"self_attn.", "temporal_block."},
                                                    {"mlp.", "mlp_block."}};

inline constexpr TensorNames kRecurrentGemmaTensors[] = {
    {.body = "model.", .head = "lm_head.", .final_norm = "final_norm.", .renamings = kRecurrentGemmaNames}};

inline constexpr PassedFields kRecurrentGemmaPassedJson[] = {
    {"embeddings are scaled", "", "embeddings_scale_by_sqrt_dim", true}};

inline constexpr ModelType kRecurrentGemmaTypes[] = {{.name = RecurrentGemmaFamily::kModelType,
                                                      .read = ReadOne<ReadRecurrentGemma>,
                                                      .fact_names = kRecurrentGemmaFactNames}};

struct RecurrentGemmaRow {
  static constexpr FamilyRow kRow = {.name = "RecurrentGemma",
                                     .special = "two RG-LRU layers to one of local attention",
                                     .original = "the authors' code",
                                     .model_types = kRecurrentGemmaTypes,
                                     .own_names = kRecurrentGemmaTensors,
                                     .passed_json = kRecurrentGemmaPassedJson};
  using Published = ConfigTypes<RecurrentGemma_2B, RecurrentGemma_9B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_FAMILY_H_
