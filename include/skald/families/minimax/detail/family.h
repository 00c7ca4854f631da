// SPDX-License-Identifier: Apache-2.0
//
// MiniMax-01: its row of the registry.

#ifndef SKALD_FAMILIES_MINIMAX_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MINIMAX_DETAIL_FAMILY_H_

#include "skald/families/minimax/detail/minimax.h"
#include "skald/families/minimax/minimax.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::internal {

// Each head's queries, keys and values one after the other.
inline constexpr RowLayout kByLightningHeads = {.by_units = true};

// Experts have the names of Mixtral.
inline constexpr Renaming kMiniMaxNames[] = {{"lightning.q_proj.", "self_attn.qkv_proj.", kByLightningHeads},
                                             {"lightning.k_proj.", "self_attn.qkv_proj.", kByLightningHeads},
                                             {"lightning.v_proj.", "self_attn.qkv_proj.", kByLightningHeads},
                                             {"lightning.gate_proj.", "self_attn.output_gate."},
                                             {"lightning.o_proj.", "self_attn.out_proj."},
                                             {"lightning.", "self_attn."}};

inline constexpr Renaming kMiniMaxGgufNames[] = {{"lightning.q_proj.", "attn_qkv.", kByLightningHeads},
                                                 {"lightning.k_proj.", "attn_qkv.", kByLightningHeads},
                                                 {"lightning.v_proj.", "attn_qkv.", kByLightningHeads},
                                                 {"lightning.gate_proj.", "attn_gate."},
                                                 {"lightning.o_proj.", "attn_output."},
                                                 {"lightning.norm.", "attn_norm_2."}};

inline constexpr PassedFields kMiniMaxPassedJson[] = {
    {"in what pieces lightning attention is computed", "", "block_size"},
    {"rows that are added are normalised, which files of this model_type do not choose", "", "postnorm", true},
    {"no expert that all rows share", "", "shared_intermediate_size", 0.0},
    {"of a shared expert, of which there is none", "", "shared_moe_mode"}};

inline constexpr FactRenaming kMiniMaxFactNames[] = {{"num_experts", "num_local_experts"},
                                                     {"moe_intermediate_size", "intermediate_size"}};

inline constexpr ModelType kMiniMaxTypes[] = {
    {.name = MiniMaxFamily::kModelType, .read = ReadOne<ReadMiniMax>, .fact_names = kMiniMaxFactNames},
    {.name = "minimax_m1", .read = ReadOne<ReadPublishedMiniMax>, .fact_names = kMiniMaxFactNames},
    {.name = "minimax_text_01", .read = ReadOne<ReadPublishedMiniMax>, .fact_names = kMiniMaxFactNames}};

inline constexpr GgufArchitecture kMiniMaxArchitectures[] = {
    {.name = "minimax-01", .read = ReadOneGguf<ReadMiniMaxGguf>}};

struct MiniMaxRow {
  static constexpr FamilyRow kRow = {
      .name = "MiniMax-01, MiniMax-M1",
      .special = "lightning attention in seven of eight layers, a stream of normalised rows, experts",
      .model_types = kMiniMaxTypes,
      .architectures = kMiniMaxArchitectures,
      .names = kMiniMaxNames,
      .gguf_names = kMiniMaxGgufNames,
      .passed_json = kMiniMaxPassedJson};
  using Published = ConfigTypes<MiniMax_M1_456B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MINIMAX_DETAIL_FAMILY_H_
