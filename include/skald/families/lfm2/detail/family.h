// SPDX-License-Identifier: Apache-2.0
//
// LFM2, dense and with experts: its row of the registry.

#ifndef SKALD_FAMILIES_LFM2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_LFM2_DETAIL_FAMILY_H_

#include "skald/families/lfm2/detail/lfm2.h"
#include "skald/families/lfm2/lfm2.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline constexpr FactRenaming kLfm2FactNames[] = {{"rms_norm_eps", "norm_eps"}};

inline constexpr Renaming kLfm2Names[] = {{"input_layernorm.", "operator_norm."},
                                          {"feed_forward_norm.", "ffn_norm."},
                                          {"self_attn.o_proj.", "self_attn.out_proj."},
                                          {"self_attn.q_norm.", "self_attn.q_layernorm."},
                                          {"self_attn.k_norm.", "self_attn.k_layernorm."},
                                          {"mlp.gate_proj.", "feed_forward.w1."},
                                          {"mlp.up_proj.", "feed_forward.w3."},
                                          {"mlp.down_proj.", "feed_forward.w2."},
                                          {"mlp.gate.e_score_correction_bias", "feed_forward.expert_bias"},
                                          {"mlp.gate.", "feed_forward.gate."},
                                          {"mlp.experts.gate_proj.", "feed_forward.experts.#.w1."},
                                          {"mlp.experts.up_proj.", "feed_forward.experts.#.w3."},
                                          {"mlp.experts.down_proj.", "feed_forward.experts.#.w2."}};

// In GGUF files the final norm is called after the embedding.
inline constexpr TensorNames kLfm2Tensors[] = {
    {.body = "model.", .head = "lm_head.", .final_norm = "embedding_norm.", .renamings = kLfm2Names},
    {.body = "",
     .head = "output.",
     .embedding = "token_embd.weight",
     .final_norm = "token_embd_norm.",
     .layers = "blk.",
     .stores_converted = true}};

inline constexpr Renaming kLfm2GgufNames[] = {{"conv.conv.", "shortconv.conv."},
                                              {"conv.in_proj.", "shortconv.in_proj."},
                                              {"conv.out_proj.", "shortconv.out_proj."}};

inline constexpr PassedFields kLfm2PassedJson[] = {
    {"only counts with \"layer_types\" missing, where it is read", "", "full_attn_idxs"},
    {"only counts with block_auto_adjust_ff_dim, and is read with it", "lfm2",
     "block_ffn_dim_multiplier block_multiple_of"},
    {"the epsilon of an older version, which norm_eps took the place of", "", "block_norm_eps"},
    {"the width of a feed-forward layer; read where the layer is not one of experts", "lfm2_moe",
     "block_ff_dim block_auto_adjust_ff_dim block_ffn_dim_multiplier block_multiple_of"},
    {"feed-forward layers have a gate", "", "block_use_swiglu", true},
    {"attention has positions", "", "use_pos_enc", true}};

inline constexpr ModelType kLfm2Types[] = {
    {.name = Lfm2Family::kModelType, .read = ReadOne<ReadLfm2>, .fact_names = kLfm2FactNames},
    {.name = Lfm2MoeFamily::kModelType, .read = ReadOne<ReadLfm2Moe>, .fact_names = kLfm2FactNames}};

inline void TellLfm2Moe(const ModelSpec& spec, nlohmann::json& fields) {
  TellGating(spec, fields);
  fields["leading_dense_block_count"] = ExpertLayers(spec).first();
}

inline constexpr GgufArchitecture kLfm2Architectures[] = {
    {.name = "lfm2", .read = ReadOneGguf<ReadLfm2Gguf>, .is_written = true},
    {.name = "lfm2moe", .read = ReadOneGguf<ReadLfm2MoeGguf>, .is_written = true, .tell = TellLfm2Moe}};

struct Lfm2Row {
  static constexpr FamilyRow kRow = {
      .name = "LFM2, LFM2-MoE",
      .special = "gated short convolutions, attention in a few layers; experts weighed by sigmoids",
      .model_types = kLfm2Types,
      .architectures = kLfm2Architectures,
      .gguf_names = kLfm2GgufNames,
      .own_names = kLfm2Tensors,
      .passed_json = kLfm2PassedJson};
  using Published = ConfigTypes<LFM2_350M, LFM2_700M, LFM2_1_2B, LFM2_8B_A1B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_LFM2_DETAIL_FAMILY_H_
