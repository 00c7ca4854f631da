// SPDX-License-Identifier: Apache-2.0
//
// Qwen3-Next and Qwen 3.5: their row of the registry.

#ifndef SKALD_FAMILIES_QWEN3_NEXT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_QWEN3_NEXT_DETAIL_FAMILY_H_

#include "skald/families/qwen3_next/detail/qwen3_next.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

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

// Each so many layers one attends.
inline void TellQwen3Next(const ModelSpec& spec, nlohmann::json& fields) {
  std::optional<uint32_t> first;
  ForEachLayer<Attention>(spec, [&](const Attention& attention, uint32_t number) {
    if (!first) first = number;
    fields["attention.head_count_kv"] = attention.kv_heads;
  });
  if (first) fields["full_attention_interval"] = *first + 1;
}

// Positions in images turn a third of the pairs each.
inline void TellQwen3_5(const ModelSpec& spec, nlohmann::json& fields) {
  TellQwen3Next(spec, fields);
  const int pairs = UsualAttention(spec)->rotary_dim / 2;
  fields["rope.dimension_sections"] = {(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0};
}

// The value heads of each key head, which are neighbours, follow those of other key heads.
inline ModelSpec Qwen3_5AsWritten(ModelSpec spec) {
  ChangeLayers<GatedDeltaNet>(spec, [](GatedDeltaNet& layer) { layer.tiled = layer.key_heads != layer.value_heads; });
  return spec;
}

// Where the element is that is written at `place` of all value heads, each of `size` elements.
struct TiledHeads {
  uint64_t key_heads, of_each, size;

  uint64_t operator()(uint64_t place) const {
    const uint64_t head = place / size;
    return (head % key_heads * of_each + head / key_heads) * size + place % size;
  }
};

// Puts the columns of a tensor into the order of files.
inline void TileColumns(DraftTensor& tensor, const TiledHeads& heads) {
  tensor.read_row = [read = std::move(tensor.read_row), heads](uint64_t row, std::span<float> values) {
    std::vector<float> whole(values.size());
    read(row, whole);
    for (uint64_t i = 0; i < values.size(); ++i) values[i] = whole[heads(i)];
  };
}

inline void ChangeQwen3_5(const ModelSpec& spec, GgufDraft& draft) {
  const GatedDeltaNet layer = *FindLayer<GatedDeltaNet>(spec);
  if (layer.key_heads == layer.value_heads) return;
  const auto key_heads = static_cast<uint64_t>(layer.key_heads), value_dim = static_cast<uint64_t>(layer.value_dim);
  const auto value_heads = static_cast<uint64_t>(layer.value_heads);
  const TiledHeads one = {key_heads, value_heads / key_heads, 1}, all = {key_heads, one.of_each, value_dim};
  const uint64_t keys = 2 * key_heads * static_cast<uint64_t>(layer.key_dim);
  ChangeTensors(draft, {".attn_qkv.weight", ".ssm_conv1d.weight"}, [=](DraftTensor& tensor) {
    TakeRows(tensor, tensor.rows(), [=](uint64_t row) { return row < keys ? row : keys + all(row - keys); });
  });
  ChangeTensors(draft, {".attn_gate.weight"}, [=](DraftTensor& tensor) { TakeRows(tensor, tensor.rows(), all); });
  ChangeTensors(draft, {".ssm_alpha.weight", ".ssm_beta.weight"},
                [=](DraftTensor& tensor) { TakeRows(tensor, tensor.rows(), one); });
  ChangeTensors(draft, {".ssm_a", ".ssm_dt.bias"}, [=](DraftTensor& tensor) { TileColumns(tensor, one); });
  ChangeTensors(draft, {".ssm_out.weight"}, [=](DraftTensor& tensor) { TileColumns(tensor, all); });
}

inline constexpr Renaming kQwen3_5WrittenNames[] = {{"feed_forward_norm.", "post_attention_norm."}};

inline constexpr Renaming kQwen3NextWrittenNames[] = {{"feed_forward_norm.", "post_attention_norm."},
                                                      {"linear_attn.in_proj_b.", "ssm_ba.", {.interleaved = true}},
                                                      {"linear_attn.in_proj_a.", "ssm_ba.", {.interleaved = true}}};

inline constexpr ChangedWeights kQwenHeads = {Assumption::kHeadsInGroups, "value heads in another order"};

inline constexpr ModelType kQwen3NextTypes[] = {
    {.name = Qwen3NextFamily::kModelType, .read = ReadOne<ReadQwen3Next>},
    {.name = Qwen3_5Family::kModelType, .read = ReadOne<ReadQwen3_5>, .outer = "qwen3_5"},
    {.name = Qwen3_5MoeFamily::kModelType, .read = ReadOne<ReadQwen3_5Moe>, .outer = "qwen3_5_moe"}};

constexpr GgufArchitecture Qwen3_5Architecture(std::string_view name, decltype(GgufArchitecture::read) read) {
  return {.name = name,
          .read = read,
          .changed = kQwenHeads,
          .is_written = true,
          .tell = TellQwen3_5,
          .written_names = kQwen3_5WrittenNames,
          .as_written = Qwen3_5AsWritten,
          .change_draft = ChangeQwen3_5};
}

inline constexpr GgufArchitecture kQwen3NextArchitectures[] = {
    {.name = "qwen3next",
     .read = ReadOneGguf<ReadQwen3NextGguf>,
     .is_written = true,
     .tell = TellQwen3Next,
     .written_names = kQwen3NextWrittenNames},
    Qwen3_5Architecture("qwen35", ReadOneGguf<ReadQwen3_5Gguf>),
    Qwen3_5Architecture("qwen35moe", ReadOneGguf<ReadQwen3_5MoeGguf>)};

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
