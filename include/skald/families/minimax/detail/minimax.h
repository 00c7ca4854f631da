// SPDX-License-Identifier: Apache-2.0
//
// MiniMax-01: what config.json and the metadata of GGUF files say. Sources: models/minimax of
// https://github.com/huggingface/transformers, version 5; configuration_minimax_m1.py and modeling_minimax_m1.py beside
// the published checkpoints; conversion/minimax.py and src/models/minimax-01.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_MINIMAX_DETAIL_MINIMAX_H_
#define SKALD_FAMILIES_MINIMAX_DETAIL_MINIMAX_H_

#include <bit>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/described_model.h"
#include "skald/families/config/short_form.h"
#include "skald/families/minimax/minimax.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Reads for each layer whether it is attention: as an element of the list that is `attention`, not `lightning`.
inline LayerFlags ReadMiniMaxLayers(const JsonFields& fields, const char* name, const nlohmann::json& attention,
                                    const nlohmann::json& lightning, size_t layers) {
  LayerFlags attends(layers, 0);
  const nlohmann::json* const types = fields.Find(name);
  if (types == nullptr) {
    fields.Missing(name);
  } else if (!types->is_array() || types->size() != layers) {
    fields.WrongValue(name, *types, "an array of one element for each layer");
  } else {
    for (size_t i = 0; i < layers; ++i) {
      attends[i] = (*types)[i] == attention;
      if (attends[i] || (*types)[i] == lightning) continue;
      fields.Unsupported(name, (*types)[i], attention.dump() + " and " + lightning.dump());
    }
  }
  return attends;
}

// Programs differ in how heads decay whose number is no power of two.
inline int ReadLightningHeads(const JsonFields& fields, const char* name) {
  const int heads = fields.Size(name);
  if (!std::has_single_bit(static_cast<unsigned>(heads))) fields.Unsupported(name, heads, "a power of two");
  return heads;
}

// Reads the fields that both spellings have.
inline MiniMaxSizes ReadMiniMaxSizes(const JsonFields& fields) {
  MiniMaxSizes sizes = {.model_dim = fields.Size("hidden_size"),
                        .vocab_size = fields.Size("vocab_size"),
                        .heads = ReadLightningHeads(fields, "num_attention_heads")};
  fields.Expect("hidden_act", NameOf(Activation::kSilu));
  fields.Expect("sliding_window", nullptr);
  sizes.kv_heads = fields.Size("num_key_value_heads", sizes.heads);
  sizes.head_dim = fields.Size("head_dim", sizes.model_dim / sizes.heads);
  ShortForm ropes = {.head_dim = sizes.head_dim};
  ropes.rope = sizes.rope;
  ReadRopes(fields, /*may_be_partial=*/true, ropes);
  sizes.rope = ropes.rope;
  sizes.rotary_dim = fields.Integer("rotary_dim", 1, sizes.head_dim, ropes.rotary_dim);
  sizes.experts = ReadExperts(fields, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", double{sizes.norm_epsilon}));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return sizes;
}

inline MiniMaxResidual ReadMiniMaxResidual(const JsonFields& fields, const char* alpha, const char* beta) {
  return {static_cast<float>(fields.Positive(alpha, 1.0)), static_cast<float>(fields.Positive(beta, 1.0))};
}

// As transformers writes it.
inline DescribedModel ReadMiniMax(const JsonFields& fields) {
  MiniMaxSizes sizes = ReadMiniMaxSizes(fields);
  sizes.attends = ReadMiniMaxLayers(fields, "layer_types", "full_attention", "linear_attention", LayerCount(fields));
  sizes.of_attention = ReadMiniMaxResidual(fields, "full_attn_alpha_factor", "full_attn_beta_factor");
  sizes.of_lightning = ReadMiniMaxResidual(fields, "linear_attn_alpha_factor", "linear_attn_beta_factor");
  sizes.of_experts = ReadMiniMaxResidual(fields, "mlp_alpha_factor", "mlp_beta_factor");
  return {MiniMaxFamily::kModelType, MiniMaxSpec(sizes)};
}

// As the published checkpoints have it.
inline DescribedModel ReadPublishedMiniMax(const JsonFields& fields) {
  MiniMaxSizes sizes = ReadMiniMaxSizes(fields);
  sizes.attends = ReadMiniMaxLayers(fields, "attn_type_list", 1, 0, LayerCount(fields));
  if (fields.Find("postnorm") == nullptr) fields.Missing("postnorm");
  fields.Expect("postnorm", true);
  const nlohmann::json* const shared = fields.Find("shared_intermediate_size");
  if (shared != nullptr && *shared != nlohmann::json::array({0})) fields.Expect("shared_intermediate_size", 0);
  sizes.of_attention = ReadMiniMaxResidual(fields, "layernorm_full_attention_alpha", "layernorm_full_attention_beta");
  sizes.of_lightning =
      ReadMiniMaxResidual(fields, "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta");
  sizes.of_experts = ReadMiniMaxResidual(fields, "layernorm_mlp_alpha", "layernorm_mlp_beta");
  return {MiniMaxFamily::kModelType, MiniMaxSpec(sizes)};
}

// Files say one factor for all residuals; what is added has none.
inline DescribedModel ReadMiniMaxGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  MiniMaxSizes sizes = {.model_dim = fields.Size("embedding_length"),
                        .vocab_size = facts.vocab_size,
                        .heads = ReadLightningHeads(fields, "attention.head_count"),
                        .kv_heads = fields.Size("attention.head_count_kv"),
                        .head_dim = fields.Size("attention.key_length")};
  fields.Expect("attention.value_length", sizes.head_dim);
  sizes.rotary_dim = fields.Integer("rope.dimension_count", 1, sizes.head_dim, sizes.head_dim);
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.rotary_dim));
  sizes.experts = ReadExperts(fields, "expert_count", "expert_used_count", "feed_forward_length");
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  const auto layers = static_cast<size_t>(GgufLayerCount(fields));
  const auto interval = static_cast<size_t>(fields.Size("full_attention_interval", 8));
  if (fields.Find("attention.recurrent_layers") != nullptr) {
    sizes.attends = ReadMiniMaxLayers(fields, "attention.recurrent_layers", false, true, layers);
  } else {
    for (size_t i = 1; i <= layers; ++i) sizes.attends.push_back(i % interval == 0);
  }
  const MiniMaxResidual residual = {.alpha = static_cast<float>(fields.Positive("residual_scale"))};
  sizes.of_attention = sizes.of_lightning = sizes.of_experts = residual;
  sizes.tied_embeddings = !facts.has_head;
  return {MiniMaxFamily::kModelType, MiniMaxSpec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MINIMAX_DETAIL_MINIMAX_H_
