// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Kimi Linear. Sources: models/kimi_linear of version 5 of
// https://github.com/huggingface/transformers; conversion/kimi_linear.py and src/models/kimi-linear.cpp of
// https://github.com/ggml-org/llama.cpp. The epsilon of the norms within latent attention is 1e-6, whatever files say
// of the others.

#ifndef SKALD_FAMILIES_KIMI_LINEAR_DETAIL_KIMI_LINEAR_H_
#define SKALD_FAMILIES_KIMI_LINEAR_DETAIL_KIMI_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/numbers/activation.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/kimi_linear/kimi_linear.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Marks the layers that a list of "linear_attn_config" counts, from 1 on. Each layer must be in one of two such lists.
inline void MarkKimiLayers(const JsonFields& fields, const char* name, unsigned char mark, LayerFlags& marks) {
  const nlohmann::json* const numbers = fields.Find(name);
  bool is_list = numbers != nullptr && numbers->is_array();
  for (size_t i = 0; is_list && i < numbers->size(); ++i) {
    const nlohmann::json& one = (*numbers)[i];
    const int64_t number = one.is_number_integer() ? one.get<int64_t>() : 0;
    is_list =
        number >= 1 && number <= static_cast<int64_t>(marks.size()) && marks[static_cast<size_t>(number - 1)] == 0;
    if (is_list) marks[static_cast<size_t>(number - 1)] = mark;
  }
  if (is_list) return;
  fields.WrongValue(name, numbers == nullptr ? nlohmann::json() : *numbers,
                    "numbers of layers, from 1 to num_hidden_layers, each once");
}

// Reads the sizes of Kimi delta attention and which layers attend: published files have both in an object, newer ones
// beside the other fields.
inline void ReadKimiLayers(const JsonFields& fields, KimiLinearSizes& sizes) {
  const size_t layers = LayerCount(fields);
  sizes.attends.assign(layers, false);
  const std::optional<JsonFields> inside = fields.Object("linear_attn_config");
  if (inside) {
    constexpr unsigned char kAttends = 1, kDelta = 2;
    LayerFlags marks(layers, 0);
    MarkKimiLayers(*inside, "full_attn_layers", kAttends, marks);
    MarkKimiLayers(*inside, "kda_layers", kDelta, marks);
    for (size_t i = 0; i < layers; ++i) {
      sizes.attends[i] = marks[i] == kAttends;
      if (marks[i] == 0) fields.WrongValue("linear_attn_config", i + 1, "two lists that have every layer");
    }
    sizes.delta.heads = inside->Size("num_heads");
    sizes.delta.head_dim = inside->Size("head_dim");
    sizes.delta.conv_width = inside->Size("short_conv_kernel_size");
    return;
  }
  sizes.delta.heads = fields.Size("linear_num_heads", 32);
  sizes.delta.head_dim = fields.Size("linear_head_dim", 128);
  sizes.delta.conv_width = fields.Size("linear_conv_kernel_dim", 4);
  const auto deltas = ReadLayerTypes(fields, "layer_types", layers, "full_attention", "linear_attention");
  if (!deltas && fields.Find("layer_types") == nullptr) return fields.Missing("layer_types");
  for (size_t i = 0; deltas && i < layers; ++i) sizes.attends[i] = !(*deltas)[i];
}

inline MixtureOfExperts ReadKimiExperts(const JsonFields& fields) {
  fields.Expect("moe_router_activation_func", "sigmoid");
  MixtureOfExperts experts =
      ReadExperts(fields, "num_experts", "num_experts_per_token", "moe_intermediate_size", DeepSeekV3Experts());
  experts.groups = fields.Integer("num_expert_group", 1, experts.experts, 1);
  experts.chosen_groups = fields.Integer("topk_group", 1, experts.groups, 1);
  SetNormalized(fields.Flag("moe_renormalize", true), experts);
  experts.weight_scale = static_cast<float>(fields.Positive("routed_scaling_factor"));
  experts.shared_width = fields.Integer("num_shared_experts", 0, kMaxSharedExperts, 1) * experts.width;
  return experts;
}

inline DescribedModel ReadKimiLinear(const JsonFields& fields) {
  fields.Expect("hidden_act", NameOf(Activation::kSilu));
  fields.Expect("attention_bias", false);
  fields.Expect("mla_use_nope", true);
  KimiLinearSizes sizes = {.model_dim = fields.Size("hidden_size"),
                           .vocab_size = fields.Size("vocab_size"),
                           .feed_forward_dim = fields.Size("intermediate_size")};
  ReadKimiLayers(fields, sizes);
  sizes.dense = ReadDenseLayers(fields, 1);
  LatentAttention& attention = sizes.attention;
  ReadLatentSizes(fields, attention);
  fields.Expect("qk_head_dim", attention.rope_dim + attention.nope_dim);
  sizes.experts = ReadKimiExperts(fields);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", double{sizes.norm_epsilon}));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return {KimiLinearFamily::kModelType, KimiLinearSpec(sizes)};
}

// Layers without key and value heads are those of Kimi delta attention, which has as many heads as the others.
inline LayerFlags ReadKimiGgufLayers(const JsonFields& fields) {
  constexpr const char* kHeads = "attention.head_count_kv";
  LayerFlags attends(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)), false);
  const nlohmann::json* const heads = fields.Find(kHeads);
  if (heads == nullptr) {
    fields.Missing(kHeads);
  } else if (!heads->is_array() || heads->size() != attends.size()) {
    fields.WrongValue(kHeads, *heads, "an array of block_count whole numbers");
  } else {
    for (size_t i = 0; i < attends.size(); ++i) {
      attends[i] = (*heads)[i] != nlohmann::json(0);
      if (!attends[i] || (*heads)[i] == nlohmann::json(1)) continue;
      fields.Unsupported(kHeads, (*heads)[i], "0 for layers of delta attention and 1 for others");
    }
  }
  return attends;
}

// Files do not say that the weights of the chosen experts add up to 1, as in all published models.
inline MixtureOfExperts ReadKimiGgufExperts(const JsonFields& fields) {
  constexpr int kSigmoid = 2;
  if (fields.Find("expert_gating_func") == nullptr) fields.Missing("expert_gating_func");
  fields.Expect("expert_gating_func", kSigmoid);
  fields.Expect("expert_weights_norm", true);
  MixtureOfExperts experts = ReadGgufExpertSizes(fields, DeepSeekV3Experts());
  experts.weight_scale = static_cast<float>(fields.Positive("expert_weights_scale", 1.0));
  experts.shared_width = fields.Integer("expert_shared_count", 0, kMaxSharedExperts) * experts.width;
  return experts;
}

inline DescribedModel ReadKimiLinearGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  KimiLinearSizes sizes = {.model_dim = fields.Size("embedding_length"),
                           .vocab_size = facts.vocab_size,
                           .feed_forward_dim = fields.Size("feed_forward_length"),
                           .attends = ReadKimiGgufLayers(fields)};
  const int layers = static_cast<int>(sizes.attends.size());
  sizes.dense = FirstLayersDense(layers, fields.Integer("leading_dense_block_count", 0, layers, 0));
  LatentAttention& attention = sizes.attention;
  ReadGgufLatentSizes(fields, /*is_newer=*/true, attention);
  sizes.delta = {
      .heads = attention.heads, .head_dim = fields.Size("kda.head_dim"), .conv_width = fields.Size("ssm.conv_kernel")};
  sizes.experts = ReadKimiGgufExperts(fields);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  return {KimiLinearFamily::kModelType, KimiLinearSpec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_KIMI_LINEAR_DETAIL_KIMI_LINEAR_H_
