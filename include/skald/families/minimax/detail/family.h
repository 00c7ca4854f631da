// SPDX-License-Identifier: Apache-2.0
//
// MiniMax-01: its row of the registry.

#ifndef SKALD_FAMILIES_MINIMAX_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MINIMAX_DETAIL_FAMILY_H_

#include <cstdint>
#include <nlohmann/json.hpp>

#include "skald/families/minimax/detail/minimax.h"
#include "skald/families/minimax/minimax.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/recurrent/lightning_attention.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/writing/gguf_draft.h"

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

// The same to be written, where ChangeMiniMax gives rows their order.
inline constexpr Renaming kMiniMaxWrittenNames[] = {
    {"lightning.q_proj.", "attn_qkv."},     {"lightning.k_proj.", "attn_qkv."},    {"lightning.v_proj.", "attn_qkv."},
    {"lightning.gate_proj.", "attn_gate."}, {"lightning.o_proj.", "attn_output."}, {"lightning.norm.", "attn_norm_2."}};

// Files say one factor of all normalised rows.
inline void TellMiniMax(const ModelSpec& spec, nlohmann::json& fields) {
  nlohmann::json& recurs = fields["attention.recurrent_layers"] = nlohmann::json::array();
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const bool is_lightning = layer.As<LightningAttention>() != nullptr;
      if (is_lightning || layer.As<Attention>() != nullptr) recurs.push_back(is_lightning);
    }
  }
  fields["residual_scale"] = spec.blocks.front().normed_multiplier;
  fields.erase("expert_feed_forward_length");
  if (const auto* const attention = FindLayer<Attention>(spec)) {
    fields["attention.head_count_kv"] = attention->kv_heads;
  }
}

// Queries, keys and values of all heads become those of each head by turns.
inline void ChangeMiniMax(const ModelSpec& spec, GgufDraft& draft) {
  const auto* const lightning = FindLayer<LightningAttention>(spec);
  if (lightning == nullptr) return;
  const auto size = static_cast<uint64_t>(lightning->head_dim), all = static_cast<uint64_t>(lightning->heads) * size;
  ChangeTensors(draft, {".attn_qkv.weight"}, [&](DraftTensor& tensor) {
    TakeRows(tensor, 3 * all, [size, all](uint64_t row) {
      const uint64_t head = row / (3 * size), within = row % (3 * size);
      return within / size * all + head * size + within % size;
    });
  });
}

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

inline constexpr GgufArchitecture kMiniMaxArchitectures[] = {{.name = "minimax-01",
                                                              .read = ReadOneGguf<ReadMiniMaxGguf>,
                                                              .is_written = true,
                                                              .tell = TellMiniMax,
                                                              .written_names = kMiniMaxWrittenNames,
                                                              .change_draft = ChangeMiniMax}};

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
