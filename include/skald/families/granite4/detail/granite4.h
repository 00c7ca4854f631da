// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json and the GGUF metadata of Granite 4. Settings of its configuration class that no published
// checkpoint uses are refused.
//
// Source: configuration_granitemoehybrid.py, versions 4.57 to 5 of https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_GRANITE4_DETAIL_GRANITE4_H_
#define SKALD_FAMILIES_GRANITE4_DETAIL_GRANITE4_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/granite4/granite4.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Layers of attention are `attention`, with RoPE or without.
inline std::vector<LayerKind> ReadGraniteLayers(const JsonFields& fields, LayerKind attention) {
  std::vector<LayerKind> layers(LayerCount(fields), LayerKind::kMamba2);
  constexpr const char* kName = "layer_types";
  const nlohmann::json* const types = fields.Find(kName);
  const bool is_older = types == nullptr || !types->is_array() || types->empty() || types->front() == "mamba" ||
                        types->front() == "attention";  // transformers 5 renamed both
  const auto scans = is_older ? ReadLayerTypes(fields, kName, layers.size(), "attention", "mamba")
                              : ReadLayerTypes(fields, kName, layers.size(), "full_attention", "linear_attention");
  for (size_t i = 0; scans && i < layers.size(); ++i) {
    if (!(*scans)[i]) layers[i] = attention;
  }
  return layers;
}

inline Mamba2 ReadGraniteMamba(const JsonFields& fields, int model_dim) {
  fields.Expect("mamba_proj_bias", false);
  fields.Expect("mamba_conv_bias", true);
  fields.Expect("mamba_n_groups", 1);  // of several, transformers normalises all as one, and Mamba-2 each by itself
  Mamba2 layer = {.heads = fields.Size("mamba_n_heads", 128),
                  .head_dim = 0,
                  .state_dim = fields.Size("mamba_d_state", 256),
                  .groups = 1,
                  .conv_width = fields.Size("mamba_d_conv", 4)};
  const int width = ExpandedSize(fields, "mamba_expand", model_dim);
  const nlohmann::json* const head_dim = fields.Find("mamba_d_head");
  const bool automatic = head_dim == nullptr || *head_dim == nlohmann::json("auto");
  layer.head_dim = automatic ? width / layer.heads : fields.Size("mamba_d_head");
  if (int64_t{layer.heads} * layer.head_dim != width) {
    fields.WrongValue("mamba_n_heads", layer.heads,
                      "mamba_expand * hidden_size / mamba_d_head, that is " + std::to_string(width) + " / " +
                          std::to_string(layer.head_dim));
  }
  ReadTimeStepLimit(fields, layer);
  return layer;
}

// The number whose root divides scores, given their multiplier.
inline double GraniteQueryPreScale(double multiplier) {
  const double of_scores = double{static_cast<float>(multiplier)};
  return 1.0 / (of_scores * of_scores);
}

inline void ReadGraniteMultipliers(const JsonFields& fields, ShortForm& a) {
  a.query_pre_scale = GraniteQueryPreScale(fields.Positive("attention_multiplier", 1.0));
  a.embedding_multiplier = static_cast<float>(fields.Positive("embedding_multiplier", 1.0));
  a.residual_multiplier = static_cast<float>(fields.Positive("residual_multiplier", 1.0));
  a.logits_scaling = static_cast<float>(fields.Positive("logits_scaling", 1.0));
}

inline ShortForm ReadGranite4(const JsonFields& fields) {
  ShortForm a = ShortFormOf<Granite4Family>();
  fields.Expect("hidden_act", NameOf(a.activation));
  fields.Expect("normalization_function", "rmsnorm");
  a.model_dim = fields.Size("hidden_size");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads", a.heads);
  a.head_dim = fields.Size("head_dim", std::max(1, a.model_dim / a.heads));
  a.qkv_bias = a.attention_output_bias = fields.Flag("attention_bias", false);
  const std::string positions = fields.String("position_embedding_type", "nope");
  const bool rotates = positions == "rope";
  if (!rotates && positions != "nope") {
    fields.Unsupported("position_embedding_type", positions, R"("nope" and "rope")");
  }
  a.layers = ReadGraniteLayers(fields, rotates ? LayerKind::kFullAttention : LayerKind::kNopeAttention);
  ReadRopes(fields, /*may_be_partial=*/false, a);
  if (std::ranges::count(a.layers, LayerKind::kMamba2) > 0) a.mamba2 = ReadGraniteMamba(fields, a.model_dim);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", 1e-6));
  ReadGraniteMultipliers(fields, a);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  a.feed_forward_dim = fields.Size("shared_intermediate_size");
  if (fields.Integer("num_local_experts", 0, kMaxExperts) > 0) {
    a.feed_forward = ReadExperts(fields, "num_local_experts", "num_experts_per_tok", "intermediate_size");
    a.shared_feed_forward = true;
  }
  return a;
}

// Layers have key and value heads where they attend, with RoPE where "rope.scaling.finetuned" says so.
inline std::vector<LayerKind> ReadGraniteGgufLayers(const JsonFields& fields) {
  const char* const name = "attention.head_count_kv";
  const bool rotates = fields.Flag("rope.scaling.finetuned", true);
  const LayerKind attention = rotates ? LayerKind::kFullAttention : LayerKind::kNopeAttention;
  std::vector<LayerKind> layers(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)), attention);
  const nlohmann::json* const heads = fields.Find(name);
  if (heads == nullptr || !heads->is_array()) return layers;
  if (heads->size() != layers.size()) {
    fields.WrongValue(name, *heads, "a number, or an array of block_count");
    return layers;
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if ((*heads)[i] == nlohmann::json(0)) layers[i] = LayerKind::kMamba2;
  }
  return layers;
}

inline void ReadGraniteGgufFeedForward(const JsonFields& fields, ShortForm& a) {
  constexpr const char* kShared = "expert_shared_feed_forward_length";
  a.feed_forward_dim = fields.Size("feed_forward_length");
  if (fields.Integer("expert_count", 0, kMaxExperts, 0) == 0) return;
  a.feed_forward = ReadExperts(fields, "expert_count", "expert_used_count", "feed_forward_length");
  a.shared_feed_forward = fields.Find(kShared) != nullptr;
  a.feed_forward_dim = a.shared_feed_forward ? fields.Size(kShared) : 0;
}

// Reads the architectures "granitehybrid", and "granite" and "granitemoe", whose layers are all attention and which
// Granite 3 has too.
inline DescribedModel ReadGranite4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ShortFormOf<Granite4Family>();
  a.model_dim = fields.Size("embedding_length");
  a.vocab_size = facts.vocab_size;
  a.layers = ReadGraniteGgufLayers(fields);
  a.heads = fields.Size("attention.head_count");
  const nlohmann::json* const kv_heads = fields.Find("attention.head_count_kv");
  const bool is_list = kv_heads != nullptr && kv_heads->is_array();
  a.kv_heads =
      is_list ? ReadLayersNumber(fields, "attention.head_count_kv") : fields.Size("attention.head_count_kv", a.heads);
  a.head_dim = fields.Size("attention.key_length", std::max(1, a.model_dim / a.heads));
  fields.Expect("attention.value_length", a.head_dim);
  a.rotary_dim = fields.Size("rope.dimension_count", a.head_dim);
  a.rope = ReadGgufRope(fields, facts, static_cast<size_t>(a.rotary_dim));
  if (std::ranges::count(a.layers, LayerKind::kMamba2) > 0) a.mamba2 = ReadGgufMamba2(fields);
  a.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  a.query_pre_scale = a.head_dim;
  if (fields.Find("attention.scale") != nullptr) {
    a.query_pre_scale = GraniteQueryPreScale(fields.Positive("attention.scale"));
  }
  a.embedding_multiplier = static_cast<float>(fields.Positive("embedding_scale", 1.0));
  a.residual_multiplier = static_cast<float>(fields.Positive("residual_scale", 1.0));
  a.logits_scaling = static_cast<float>(fields.Positive("logit_scale", 1.0));
  a.tied_embeddings = !facts.has_head;
  ReadGraniteGgufFeedForward(fields, a);
  return {Granite4Family::kModelType, Expand(a)};
}

// The architectures all of whose layers attend.
inline DescribedModel ReadGraniteGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const char* const name = "attention.head_count_kv";
  const nlohmann::json* const heads = fields.Find(name);
  if (heads != nullptr && heads->is_array() && std::ranges::count(*heads, nlohmann::json(0)) > 0) {
    fields.WrongValue(name, *heads, "above 0 for each layer");
  }
  (void)fields.Positive("logit_scale");  // every file of these has it, also one of a model that scales nothing
  return ReadGranite4Gguf(fields, facts);
}

inline DescribedModel ReadDenseGraniteGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  fields.Expect("expert_count", 0);
  return ReadGraniteGguf(fields, facts);
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GRANITE4_DETAIL_GRANITE4_H_
