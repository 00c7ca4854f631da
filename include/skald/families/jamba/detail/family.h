// SPDX-License-Identifier: Apache-2.0
//
// Jamba: what config.json and the metadata of GGUF files say, and its row of the registry. Sources: models/jamba of
// https://github.com/huggingface/transformers, version 5; conversion/jamba.py and src/models/jamba.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_JAMBA_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_JAMBA_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/jamba/jamba.h"
#include "skald/families/mamba/detail/mamba.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald::internal {

// One layer in so many, from the one at `offset` on.
struct NthLayer {
  size_t period, offset;

  bool Has(size_t layer) const { return layer % period == offset; }
};

inline NthLayer ReadNthLayer(const JsonFields& fields, const char* period, int standard_period, const char* offset,
                             int standard_offset) {
  const int every = fields.Size(period, standard_period);
  return {static_cast<size_t>(every), static_cast<size_t>(fields.Integer(offset, 0, every - 1, standard_offset))};
}

// Heads are as wide as the model divided by their number, and Mamba's norms are those of the model.
inline void FinishJamba(ShortForm& a) {
  a.head_dim = std::max(1, a.model_dim / a.heads);
  a.query_pre_scale = a.head_dim;
  a.mamba.selection_norm = RmsNormOf(a);
}

// Gives the layers that has(layer) holds for experts, whose weights are what a softmax of all scores gives them.
template <class Has>
void AddJambaExperts(MixtureOfExperts experts, Has has, ShortForm& a) {
  experts.normalized = false;
  a.feed_forward = experts;
  SetDenseLayers(a, [&](uint32_t layer) { return !has(layer); });
}

inline ShortForm ReadJamba(const JsonFields& fields) {
  ShortForm a = ShortFormOf<JambaFamily>();
  fields.Expect("hidden_act", NameOf(a.activation));
  fields.Expect("mamba_conv_bias", true);
  fields.Expect("mamba_proj_bias", false);
  fields.Expect("mamba_inner_layernorms", true);
  fields.Expect("sliding_window", nullptr);
  a.model_dim = fields.Size("hidden_size");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads", a.heads);
  a.feed_forward_dim = fields.Size("intermediate_size");
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", double{a.norm_epsilon}));
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  a.layers.assign(LayerCount(fields), LayerKind::kMamba);
  const NthLayer attends = ReadNthLayer(fields, "attn_layer_period", 8, "attn_layer_offset", 4);
  for (size_t i = 0; i < a.layers.size(); ++i) {
    if (attends.Has(i)) a.layers[i] = LayerKind::kNopeAttention;
  }
  const nlohmann::json* const rank = fields.Find("mamba_dt_rank");
  const bool automatic = rank == nullptr || *rank == nlohmann::json("auto");
  a.mamba = {.inner_dim = ExpandedSize(fields, "mamba_expand", a.model_dim),
             .state_dim = fields.Size("mamba_d_state", 16),
             .time_step_rank = automatic ? (a.model_dim + 15) / 16 : fields.Size("mamba_dt_rank"),
             .conv_width = fields.Size("mamba_d_conv", 4)};
  FinishJamba(a);
  if (fields.Integer("num_experts", 1, kMaxExperts, 16) > 1) {
    const NthLayer mixes = ReadNthLayer(fields, "expert_layer_period", 2, "expert_layer_offset", 1);
    AddJambaExperts(
        ReadExperts(fields, "num_experts", "num_experts_per_tok", "intermediate_size"),
        [&](uint32_t layer) { return mixes.Has(layer); }, a);
  }
  return a;
}

// Layers without key and value heads are Mamba's. Which ones have experts is told by their tensors alone.
inline DescribedModel ReadJambaGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr const char* kHeads = "attention.head_count_kv";
  ShortForm a = ShortFormOf<JambaFamily>();
  a.model_dim = fields.Size("embedding_length");
  a.vocab_size = facts.vocab_size;
  a.heads = fields.Size("attention.head_count");
  a.kv_heads = ReadLayersNumber(fields, kHeads);
  a.feed_forward_dim = fields.Size("feed_forward_length");
  a.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  a.tied_embeddings = !facts.has_head;
  a.layers.assign(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)), LayerKind::kMamba);
  const nlohmann::json* const heads = fields.Find(kHeads);
  if (heads == nullptr || !heads->is_array() || heads->size() != a.layers.size()) {
    fields.WrongValue(kHeads, heads == nullptr ? nlohmann::json() : *heads, "an array of block_count whole numbers");
    return {};
  }
  for (size_t i = 0; i < a.layers.size(); ++i) {
    if ((*heads)[i] != nlohmann::json(0)) a.layers[i] = LayerKind::kNopeAttention;
  }
  a.mamba = ReadGgufMamba(fields);
  FinishJamba(a);
  for (const char* const name : {"attention.key_length", "attention.value_length"}) fields.Expect(name, a.head_dim);
  if (!facts.expert_layers.empty()) {
    AddJambaExperts(
        ReadExperts(fields, "expert_count", "expert_used_count", "feed_forward_length"),
        [&](uint32_t layer) { return facts.expert_layers.contains(layer); }, a);
  }
  return {a.model_type, Expand(a)};
}

inline constexpr FactRenaming kJambaFactNames[] = {{"moe_intermediate_size", "intermediate_size"},
                                                   {"state_size", "mamba_d_state"},
                                                   {"time_step_rank", "mamba_dt_rank"},
                                                   {"conv_kernel", "mamba_d_conv"}};

inline constexpr PassedFields kJambaPassedJson[] = {
    {"how long a text may be", "", "n_ctx"},
    {"what the original program returns", "", "calc_logits_for_entire_prompt"},
    {"of experts, which the model does not have, and read where it does", "",
     "num_experts_per_tok expert_layer_period expert_layer_offset"}};

inline constexpr PassedFields kJambaPassedGguf[] = {
    {"of experts, which no layer of the file has, and read where one does", "", "expert_count expert_used_count"}};

inline constexpr ModelType kJambaTypes[] = {
    {.name = JambaFamily::kModelType, .read = ReadOne<ReadJamba>, .fact_names = kJambaFactNames}};

inline void TellJamba(const ModelSpec& /*spec*/, nlohmann::json& fields) { fields.erase("expert_feed_forward_length"); }

inline constexpr GgufArchitecture kJambaArchitectures[] = {
    {.name = "jamba", .read = ReadOneGguf<ReadJambaGguf>, .is_written = true, .tell = TellJamba}};

// Folders have the names of Falcon-H1.
struct JambaRow {
  static constexpr FamilyRow kRow = {
      .name = "Jamba",
      .special = "Mamba with norms of what it selects, attention without RoPE in a few layers, experts in some",
      .model_types = kJambaTypes,
      .architectures = kJambaArchitectures,
      .passed_json = kJambaPassedJson,
      .passed_gguf = kJambaPassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_JAMBA_DETAIL_FAMILY_H_
