// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Qwen3-Next and of the text part of Qwen 3.5. Sources:
// configuration_*.py and modeling_*.py in models/qwen3_next, models/qwen3_5 and models/qwen3_5_moe, versions 4.57 to 5
// of https://github.com/huggingface/transformers; conversion/qwen.py of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_QWEN3_NEXT_DETAIL_QWEN3_NEXT_H_
#define SKALD_FAMILIES_QWEN3_NEXT_DETAIL_QWEN3_NEXT_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/numbers/activation.h"
#include "skald/families/config/short_form.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Reads which layers attend: those that "layer_types" names, or each "full_attention_interval"th.
inline void ReadQwenLayerTypes(const JsonFields& fields, Qwen3NextSizes& sizes) {
  sizes.attention_interval = fields.Size("full_attention_interval", sizes.attention_interval);
  const auto deltas =
      ReadLayerTypes(fields, "layer_types", static_cast<size_t>(sizes.layers), "full_attention", "linear_attention");
  if (!deltas) return;
  sizes.attention_layers.emplace();
  for (int i = 0; i < sizes.layers; ++i) {
    if (!(*deltas)[static_cast<size_t>(i)]) sizes.attention_layers->push_back(i);
  }
}

inline GatedDeltaNet ReadQwenDeltaNet(const JsonFields& fields) {
  const GatedDeltaNet layer = {.key_heads = fields.Size("linear_num_key_heads", 16),
                               .value_heads = fields.Size("linear_num_value_heads", 32),
                               .key_dim = fields.Size("linear_key_head_dim", 128),
                               .value_dim = fields.Size("linear_value_head_dim", 128),
                               .conv_width = fields.Size("linear_conv_kernel_dim", 4)};
  if (layer.value_heads % layer.key_heads != 0) {
    fields.WrongValue("linear_num_value_heads", layer.value_heads, "a multiple of linear_num_key_heads");
  }
  return layer;
}

// Returns what all kinds of models say alike; feed-forward layers are not among it.
inline Qwen3NextSizes ReadQwenSizes(const JsonFields& fields) {
  constexpr double kRotaryPart = 0.25;
  Qwen3NextSizes sizes = {.model_dim = fields.Size("hidden_size"),
                          .vocab_size = fields.Size("vocab_size"),
                          .layers = static_cast<int>(LayerCount(fields)),
                          .heads = fields.Size("num_attention_heads"),
                          .kv_heads = fields.Size("num_key_value_heads"),
                          .head_dim = fields.Size("head_dim", 256)};
  fields.Expect("hidden_act", NameOf(Activation::kSilu));
  fields.Expect("attention_bias", false);
  fields.Expect("attn_output_gate", true);
  ReadQwenLayerTypes(fields, sizes);
  sizes.delta_net = ReadQwenDeltaNet(fields);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  ShortForm ropes = {.head_dim = sizes.head_dim, .rope = {.base = 10000.0}};
  ReadRopes(fields, /*may_be_partial=*/true, ropes, kRotaryPart);
  sizes.rope = ropes.rope;
  sizes.rotary_dim = ropes.rotary_dim;
  return sizes;
}

inline MixtureOfExperts ReadQwenExperts(const JsonFields& fields, bool normalized) {
  MixtureOfExperts experts = ReadExperts(fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size");
  experts.normalized = normalized;
  experts.shared_width = fields.Size("shared_expert_intermediate_size");
  experts.shared_gate = true;
  return experts;
}

inline DescribedModel ReadQwen3Next(const JsonFields& fields) {
  Qwen3NextSizes sizes = ReadQwenSizes(fields);
  sizes.experts = ReadQwenExperts(fields, fields.Flag("norm_topk_prob", true));
  const auto dense = ReadLayerNumbers(fields, "mlp_only_layers");
  const int step = fields.Size("decoder_sparse_step", 1);
  for (int i = 0; i < sizes.layers; ++i) {
    if (dense.contains(static_cast<uint32_t>(i)) || (i + 1) % step != 0) sizes.dense_layers.push_back(i);
  }
  if (!sizes.dense_layers.empty()) sizes.feed_forward_dim = fields.Size("intermediate_size");
  return {Qwen3NextFamily::kModelType, Qwen3NextSpec(sizes)};
}

inline DescribedModel ReadQwen3_5(const JsonFields& fields) {
  Qwen3NextSizes sizes = ReadQwenSizes(fields);
  sizes.feed_forward_dim = fields.Size("intermediate_size");
  return {Qwen3_5Family::kModelType, Qwen3NextSpec(sizes)};
}

inline DescribedModel ReadQwen3_5Moe(const JsonFields& fields) {
  Qwen3NextSizes sizes = ReadQwenSizes(fields);
  sizes.experts = ReadQwenExperts(fields, /*normalized=*/true);
  const auto dense = ReadLayerNumbers(fields, "mlp_only_layers");
  if (!dense.empty()) fields.Unsupported("mlp_only_layers", *dense.begin(), "no layer without experts");
  return {Qwen3_5MoeFamily::kModelType, Qwen3NextSpec(sizes)};
}

inline Qwen3NextSizes ReadQwenGgufSizes(const JsonFields& fields, const GgufTensorFacts& facts) {
  Qwen3NextSizes sizes = {.model_dim = fields.Size("embedding_length"),
                          .vocab_size = facts.vocab_size,
                          .layers = GgufLayerCount(fields),
                          .heads = fields.Size("attention.head_count"),
                          .kv_heads = fields.Size("attention.head_count_kv"),
                          .head_dim = fields.Size("attention.key_length")};
  fields.Expect("attention.value_length", sizes.head_dim);
  sizes.rotary_dim = fields.Integer("rope.dimension_count", 1, sizes.head_dim);
  sizes.rope.base = fields.Positive("rope.freq_base");
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.attention_interval = fields.Size("full_attention_interval", sizes.attention_interval);
  sizes.delta_net = {.key_heads = fields.Size("ssm.group_count"),
                     .value_heads = fields.Size("ssm.time_step_rank"),
                     .key_dim = fields.Size("ssm.state_size"),
                     .conv_width = fields.Size("ssm.conv_kernel")};
  const int width = fields.Size("ssm.inner_size");
  sizes.delta_net.value_dim = width / sizes.delta_net.value_heads;
  if (width % sizes.delta_net.value_heads != 0) {
    fields.WrongValue("ssm.inner_size", width, "a multiple of ssm.time_step_rank");
  }
  sizes.tied_embeddings = !facts.has_head;
  return sizes;
}

// Weights of the chosen experts add up to 1 in all published models, and files say nothing about it.
inline MixtureOfExperts ReadQwenGgufExperts(const JsonFields& fields) {
  MixtureOfExperts experts = ReadGgufExpertSizes(fields);
  experts.shared_width = fields.Size("expert_shared_feed_forward_length");
  experts.shared_gate = true;
  return experts;
}

inline DescribedModel ReadQwen3NextGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  Qwen3NextSizes sizes = ReadQwenGgufSizes(fields, facts);
  sizes.experts = ReadQwenGgufExperts(fields);
  return {Qwen3NextFamily::kModelType, Qwen3NextSpec(sizes)};
}

// The converter reorders the value heads of Qwen 3.5, so that each key head's are no neighbours.
inline Qwen3NextSizes ReadQwen3_5GgufSizes(const JsonFields& fields, const GgufTensorFacts& facts) {
  Qwen3NextSizes sizes = ReadQwenGgufSizes(fields, facts);
  sizes.delta_net.tiled = sizes.delta_net.key_heads != sizes.delta_net.value_heads;
  return sizes;
}

inline DescribedModel ReadQwen3_5Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  Qwen3NextSizes sizes = ReadQwen3_5GgufSizes(fields, facts);
  sizes.feed_forward_dim = fields.Size("feed_forward_length");
  return {Qwen3_5Family::kModelType, Qwen3NextSpec(sizes)};
}

inline DescribedModel ReadQwen3_5MoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  Qwen3NextSizes sizes = ReadQwen3_5GgufSizes(fields, facts);
  sizes.experts = ReadQwenGgufExperts(fields);
  return {Qwen3_5MoeFamily::kModelType, Qwen3NextSpec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_QWEN3_NEXT_DETAIL_QWEN3_NEXT_H_
