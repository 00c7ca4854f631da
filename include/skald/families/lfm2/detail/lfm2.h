// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of LFM2 models. Sources: configuration_*.py and
// modeling_*.py in models/lfm2 and models/lfm2_moe, versions 4.55 to 5 of https://github.com/huggingface/transformers.
// Published files have more fields, of which these are all that count.

#ifndef SKALD_FAMILIES_LFM2_DETAIL_LFM2_H_
#define SKALD_FAMILIES_LFM2_DETAIL_LFM2_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/lfm2/lfm2.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns which layers are attention: those that "full_attn_idxs" of older files names, or "layer_types" of newer ones;
// all if there is neither.
inline std::vector<int> Lfm2AttentionLayers(const JsonFields& fields, int layers) {
  const nlohmann::json* const indices = fields.Find("full_attn_idxs");
  const auto count = static_cast<size_t>(layers);
  LayerFlags convolves(count, indices != nullptr);
  if (const auto types = ReadLayerTypes(fields, "layer_types", count, "full_attention", "conv")) {
    convolves = *types;
  } else if (indices != nullptr) {
    const char* const expected = "an array of whole numbers from 0 to num_hidden_layers - 1";
    if (!indices->is_array()) fields.WrongValue("full_attn_idxs", *indices, expected);
    for (const nlohmann::json& index : *indices) {
      if (!index.is_number_unsigned() || index.get<uint64_t>() >= count) {
        fields.WrongValue("full_attn_idxs", index, expected);
        return {};
      }
      convolves[index.get<size_t>()] = false;
    }
  }
  std::vector<int> attention;
  for (int i = 0; i < layers; ++i) {
    if (!convolves[static_cast<size_t>(i)]) attention.push_back(i);
  }
  return attention;
}

// The width that files give is that of a feed-forward layer without a gate; two thirds of it have as many parameters.
inline int Lfm2FeedForwardDim(const JsonFields& fields) {
  const int given =
      fields.Find("block_ff_dim") != nullptr ? fields.Size("block_ff_dim") : fields.Size("intermediate_size");
  if (!fields.Flag("block_auto_adjust_ff_dim", true)) return given;
  constexpr double kMaxMultiplier = 64.0;
  const double multiplier = fields.Positive("block_ffn_dim_multiplier", 1.0);
  if (multiplier > kMaxMultiplier) fields.WrongValue("block_ffn_dim_multiplier", multiplier, "at most 64");
  const int multiple = fields.Size("block_multiple_of", 256);
  const double width = std::floor(std::fmin(multiplier, kMaxMultiplier) * static_cast<double>(2 * int64_t{given} / 3));
  return static_cast<int>(std::ceil(width / multiple) * multiple);
}

// Returns what both kinds of models say alike; the widths of feed-forward layers are not among it.
inline Lfm2Sizes ReadLfm2Sizes(const JsonFields& fields) {
  Lfm2Sizes sizes = {.model_dim = fields.Size("hidden_size"),
                     .vocab_size = fields.Size("vocab_size"),
                     .layers = static_cast<int>(LayerCount(fields)),
                     .heads = fields.Size("num_attention_heads")};
  sizes.kv_heads = fields.Size("num_key_value_heads", sizes.heads);
  sizes.attention_layers = Lfm2AttentionLayers(fields, sizes.layers);
  sizes.conv_width = fields.Size("conv_L_cache", sizes.conv_width);
  sizes.conv_bias = fields.Flag("conv_bias", sizes.conv_bias);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("norm_eps", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", fields.Flag("tie_embedding", sizes.tied_embeddings));
  ShortForm ropes = {.head_dim = sizes.model_dim / sizes.heads,
                     .rope = {.base = fields.Positive("theta", sizes.rope.base)}};
  ReadRopes(fields, /*may_be_partial=*/false, ropes);
  sizes.rope = ropes.rope;
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("num_attention_heads", sizes.heads, "a divisor of hidden_size");
  }
  fields.Expect("num_heads", sizes.heads);  // older files say some sizes twice
  for (const char* const name : {"block_dim", "conv_dim", "conv_dim_out"}) fields.Expect(name, sizes.model_dim);
  return sizes;
}

inline DescribedModel ReadLfm2(const JsonFields& fields) {
  Lfm2Sizes sizes = ReadLfm2Sizes(fields);
  sizes.feed_forward_dim = Lfm2FeedForwardDim(fields);
  return {Lfm2Family::kModelType, Lfm2Spec(sizes)};
}

inline DescribedModel ReadLfm2Moe(const JsonFields& fields) {
  Lfm2Sizes sizes = ReadLfm2Sizes(fields);
  sizes.feed_forward_dim = fields.Size("intermediate_size");
  sizes.dense_layers = fields.Integer("num_dense_layers", 0, sizes.layers, 2);
  sizes.experts = ReadExperts(fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size", Lfm2Experts());
  sizes.experts.selection_bias = fields.Flag("use_expert_bias", true);
  SetNormalized(fields.Flag("norm_topk_prob", true), sizes.experts);
  sizes.experts.weight_scale = static_cast<float>(fields.Positive("routed_scaling_factor", 1.0));
  return {Lfm2MoeFamily::kModelType, Lfm2Spec(sizes)};
}

// Reads which layers attend: "attention.head_count_kv" has a number for each layer, 0 for convolutions.
inline void ReadLfm2KVHeads(const JsonFields& fields, Lfm2Sizes& sizes) {
  const char* const name = "attention.head_count_kv";
  const char* const expected = "an array of block_count whole numbers, the same but for those that are 0";
  const nlohmann::json* const kv_heads = fields.Find(name);
  if (kv_heads == nullptr) return fields.Missing(name);
  if (!kv_heads->is_array() || kv_heads->size() != static_cast<size_t>(sizes.layers)) {
    return fields.WrongValue(name, *kv_heads, expected);
  }
  for (int i = 0; i < sizes.layers; ++i) {
    const nlohmann::json& element = (*kv_heads)[static_cast<size_t>(i)];
    const int64_t heads = element.is_number_integer() ? element.get<int64_t>() : -1;
    if (heads == 0) continue;
    const bool is_first = sizes.attention_layers.empty();
    if (heads < 0 || heads > sizes.heads || (!is_first && heads != sizes.kv_heads)) {
      return fields.WrongValue(name, element, expected);
    }
    sizes.kv_heads = static_cast<int>(heads);
    sizes.attention_layers.push_back(i);
  }
}

inline Lfm2Sizes ReadLfm2GgufSizes(const JsonFields& fields, const GgufTensorFacts& facts) {
  Lfm2Sizes sizes = {.model_dim = fields.Size("embedding_length"),
                     .vocab_size = facts.vocab_size,
                     .layers = fields.Integer("block_count", 1, kMaxLayers),
                     .heads = fields.Size("attention.head_count"),
                     .feed_forward_dim = fields.Size("feed_forward_length")};
  for (const char* const name : {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
    fields.Expect(name, sizes.model_dim / sizes.heads);
  }
  sizes.conv_width = fields.Size("shortconv.l_cache");
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.rope.base = fields.Positive("rope.freq_base", sizes.rope.base);
  sizes.tied_embeddings = !facts.has_head;
  ReadLfm2KVHeads(fields, sizes);
  return sizes;
}

inline DescribedModel ReadLfm2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return {Lfm2Family::kModelType, Lfm2Spec(ReadLfm2GgufSizes(fields, facts))};
}

// Files say neither whether weights are normalised nor what scales them: all published models are alike in it.
inline DescribedModel ReadLfm2MoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr int kSigmoid = 2;
  Lfm2Sizes sizes = ReadLfm2GgufSizes(fields, facts);
  sizes.dense_layers = fields.Integer("leading_dense_block_count", 0, sizes.layers);
  fields.Expect("expert_gating_func", kSigmoid);
  sizes.experts = ReadGgufExpertSizes(fields, Lfm2Experts());
  return {Lfm2MoeFamily::kModelType, Lfm2Spec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_LFM2_DETAIL_LFM2_H_
