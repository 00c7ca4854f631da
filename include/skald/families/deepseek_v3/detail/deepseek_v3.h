// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of DeepSeek-V3 and GLM-4.7-Flash. Sources:
// models/deepseek_v3 and models/glm4_moe_lite of version 5 of https://github.com/huggingface/transformers, and
// llama.cpp (https://github.com/ggml-org/llama.cpp: conversion/deepseek.py, conversion/glm.py,
// src/models/deepseek2.cpp). The epsilon of the norms within attention is 1e-6, whatever files say of the others.
// Layers that predict further tokens are not read.

#ifndef SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_DEEPSEEK_V3_H_
#define SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_DEEPSEEK_V3_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/families/config/short_form.h"
#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// The most experts that all rows share; beyond every model there is.
inline constexpr int kMaxSharedExperts = 64;

// Reads what scores are multiplied by the square of: YaRN's factor for the elements that RoPE does not turn.
inline float ReadMscale(const JsonFields& fields, const RopeSpec& rope) {
  constexpr const char* kName = "mscale_all_dim";
  for (const char* const holder : {"rope_scaling", "rope_parameters"}) {
    const std::optional<JsonFields> inside = fields.Object(holder);
    if (rope.scaling == RopeScaling::kNone || !inside || inside->Find(kName) == nullptr) continue;
    return static_cast<float>(YarnAttentionFactor(rope.factor, inside->Positive(kName)));
  }
  return 1.0f;
}

inline void ReadLatentSizes(const JsonFields& fields, LatentAttention& attention) {
  attention.heads = fields.Size("num_attention_heads");
  fields.Expect("num_key_value_heads", attention.heads);
  if (fields.Find("q_lora_rank") != nullptr) attention.query_rank = fields.Size("q_lora_rank");
  attention.latent_dim = fields.Size("kv_lora_rank");
  attention.rope_dim = fields.Size("qk_rope_head_dim");
  attention.nope_dim = fields.Size("qk_nope_head_dim");
  attention.value_dim = fields.Size("v_head_dim");
}

inline void ReadLatentAttention(const JsonFields& fields, LatentAttention& attention, bool head_is_whole) {
  fields.Expect("attention_bias", false);
  fields.Expect("rope_interleave", true);
  ReadLatentSizes(fields, attention);
  const int whole = attention.rope_dim + attention.nope_dim;
  ShortForm ropes = {.head_dim = head_is_whole ? whole : attention.rope_dim, .rope = {.base = attention.rope.base}};
  fields.Expect("head_dim", ropes.head_dim);  // newer files say sizes twice
  fields.Expect("qk_head_dim", whole);
  const double part = static_cast<double>(attention.rope_dim) / static_cast<double>(ropes.head_dim);
  ReadRopes(fields, head_is_whole, ropes, part);
  if (ropes.rotary_dim != attention.rope_dim) {
    fields.Unsupported("partial_rotary_factor", ropes.rotary_dim, "that of qk_rope_head_dim");
  }
  attention.rope = WithoutUnusedFields(ropes.rope);
  attention.mscale = ReadMscale(fields, attention.rope);
}

// Reads the experts; `experts` holds what their family takes for granted.
inline void ReadDeepSeekV3Experts(const JsonFields& fields, MixtureOfExperts& experts) {
  fields.Expect("scoring_func", experts.sigmoid ? "sigmoid" : "softmax");
  fields.Expect("topk_method", "noaux_tc");
  experts = ReadExperts(fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", experts);
  experts.groups = fields.Integer("n_group", 1, experts.experts, experts.groups);
  experts.chosen_groups = fields.Integer("topk_group", 1, experts.groups, experts.chosen_groups);
  SetNormalized(fields.Flag("norm_topk_prob", true), experts);
  experts.weight_scale = static_cast<float>(fields.Positive("routed_scaling_factor", experts.weight_scale));
  experts.shared_width = fields.Integer("n_shared_experts", 0, kMaxSharedExperts, 1) * experts.width;
}

// Returns which layers have no experts: the first ones, or those that a list calls "dense".
inline LayerFlags ReadDenseLayers(const JsonFields& fields, int standard) {
  const auto layers = static_cast<int>(LayerCount(fields));
  fields.Expect("moe_layer_freq", 1);
  const auto dense = ReadLayerTypes(fields, "mlp_layer_types", static_cast<size_t>(layers), "sparse", "dense");
  return dense ? *dense : FirstLayersDense(layers, fields.Integer("first_k_dense_replace", 0, layers, standard));
}

// Gives a model of the short form DeepSeek-V3's experts in all but its first layers.
inline void AddDeepSeekV3Experts(const JsonFields& fields, int standard_dense_layers, ShortForm& a) {
  MixtureOfExperts experts = DeepSeekV3Experts();
  ReadDeepSeekV3Experts(fields, experts);
  SetExperts(experts, a);
  const LayerFlags dense = ReadDenseLayers(fields, standard_dense_layers);
  SetDenseLayers(a, [&](uint32_t layer) { return dense[layer]; });
}

// Reads a model; `sizes` hold what its family takes for granted. In some families "head_dim" is of whole heads, of
// which RoPE turns a part.
inline DeepSeekV3Sizes ReadDeepSeekV3Sizes(const JsonFields& fields, DeepSeekV3Sizes sizes, int standard_dense_layers,
                                           bool head_is_whole = false) {
  fields.Expect("hidden_act", "silu");
  sizes.model_dim = fields.Size("hidden_size");
  sizes.vocab_size = fields.Size("vocab_size");
  sizes.feed_forward_dim = fields.Size("intermediate_size");
  sizes.dense = ReadDenseLayers(fields, standard_dense_layers);
  ReadLatentAttention(fields, sizes.attention, head_is_whole);
  ReadDeepSeekV3Experts(fields, sizes.experts);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return sizes;
}

inline DescribedModel ReadDeepSeekV3(const JsonFields& fields) {
  DeepSeekV3Sizes standard;
  standard.experts.groups = 8, standard.experts.chosen_groups = 4, standard.experts.weight_scale = 2.5f;
  return {DeepSeekV3Family::kModelType, DeepSeekV3Spec(ReadDeepSeekV3Sizes(fields, standard, 3))};
}

inline DescribedModel ReadGlm4MoeLite(const JsonFields& fields) {
  DeepSeekV3Sizes standard = {.norm_epsilon = 1e-5f};
  standard.experts.weight_scale = 1.8f;
  return {Glm4MoeLiteFamily::kModelType, DeepSeekV3Spec(ReadDeepSeekV3Sizes(fields, standard, 1))};
}

// Newer files describe the one head of keys that queries attend to, and under other names the heads that it replaces;
// older ones only the latter.
inline void ReadGgufLatentSizes(const JsonFields& fields, bool is_newer, LatentAttention& attention) {
  const char* const key_length = is_newer ? "attention.key_length_mla" : "attention.key_length";
  attention.heads = fields.Size("attention.head_count");
  if (fields.Find("attention.q_lora_rank") != nullptr) attention.query_rank = fields.Size("attention.q_lora_rank");
  attention.latent_dim = fields.Size("attention.kv_lora_rank");
  attention.rope_dim = fields.Size("rope.dimension_count");
  attention.nope_dim = fields.Size(key_length) - attention.rope_dim;
  if (is_newer) {
    fields.Expect("attention.key_length", attention.latent_dim + attention.rope_dim);
    fields.Expect("attention.value_length", attention.latent_dim);
  }
  attention.value_dim = fields.Size(is_newer ? "attention.value_length_mla" : "attention.value_length");
  if (attention.nope_dim <= 0) {
    fields.WrongValue(key_length, attention.nope_dim + attention.rope_dim, "more than rope.dimension_count");
  }
}

inline void ReadGgufLatentAttention(const JsonFields& fields, const GgufTensorFacts& facts,
                                    LatentAttention& attention) {
  const bool is_newer = fields.Find("attention.key_length_mla") != nullptr;
  ReadGgufLatentSizes(fields, is_newer, attention);
  fields.Expect("attention.head_count_kv", is_newer ? 1 : attention.heads);
  attention.rope = ReadGgufRope(fields, facts, static_cast<size_t>(attention.rope_dim));
  if (attention.rope.scaling != RopeScaling::kYarn) return;
  fields.Expect("rope.scaling.attn_factor", 1.0);
  // Files without it are of models without "mscale_all_dim": as in their original, YaRN's factor is of the elements
  // that RoPE turns. (llama.cpp scales all scores by it once more.) In those with it the two factors cancel.
  constexpr const char* kMultiplier = "rope.scaling.yarn_log_multiplier";
  if (fields.Find(kMultiplier) == nullptr) return;
  attention.rope.attention_factor = 1.0f;
  attention.mscale = static_cast<float>(1.0 + fields.Positive(kMultiplier) * PortableLog(attention.rope.factor));
}

// Reads the experts. Of models with as many experts as DeepSeek-V3 older files leave out that they are in groups; of
// GLM's that weights are sigmoids, which of others tells DeepSeek-V3 from earlier models.
inline void ReadGgufDeepSeekV3Experts(const JsonFields& fields, bool is_glm, MixtureOfExperts& experts) {
  constexpr int kSoftmax = 1, kSigmoid = 2;
  const bool in_groups = fields.Integer("expert_count", 1, kMaxExperts) == 256;
  if (!is_glm && experts.sigmoid && fields.Find("expert_gating_func") == nullptr) fields.Missing("expert_gating_func");
  fields.Expect("expert_gating_func", experts.sigmoid ? kSigmoid : kSoftmax);
  experts = ReadGgufExpertSizes(fields, experts);
  constexpr const char *kGroups = "expert_group_count", *kChosenGroups = "expert_group_used_count";
  experts.groups = fields.Integer(kGroups, 1, experts.experts, in_groups ? 8 : 1);
  const bool is_half_said = fields.Find(kGroups) != nullptr && fields.Find(kChosenGroups) == nullptr;
  if (experts.groups > 1 && is_half_said) fields.Missing(kChosenGroups);
  experts.chosen_groups = fields.Integer(kChosenGroups, 1, experts.groups, in_groups ? 4 : 1);
  SetNormalized(fields.Flag("expert_weights_norm", false), experts);
  experts.weight_scale = static_cast<float>(fields.Positive("expert_weights_scale", 1.0));
  experts.shared_width = fields.Integer("expert_shared_count", 0, kMaxSharedExperts) * experts.width;
}

// One architecture for both families, which no value tells apart: of all published models those of GLM alone have a
// RoPE without scaling.
inline void AddGgufDeepSeekV3Experts(const JsonFields& fields, bool is_glm, ShortForm& a) {
  MixtureOfExperts experts = DeepSeekV3Experts();
  ReadGgufDeepSeekV3Experts(fields, is_glm, experts);
  SetExperts(experts, a);
  ReadFirstDenseLayers(fields, "leading_dense_block_count", a, 0);
}

inline DeepSeekV3Sizes ReadGgufDeepSeek2Sizes(const JsonFields& fields, const GgufTensorFacts& facts,
                                              DeepSeekV3Sizes sizes) {
  sizes.model_dim = fields.Size("embedding_length");
  sizes.vocab_size = facts.vocab_size;
  sizes.feed_forward_dim = fields.Size("feed_forward_length");
  const int layers = GgufLayerCount(fields);
  sizes.dense = FirstLayersDense(layers, fields.Integer("leading_dense_block_count", 0, layers));
  ReadGgufLatentAttention(fields, facts, sizes.attention);
  const bool is_glm = sizes.attention.rope.scaling == RopeScaling::kNone;
  ReadGgufDeepSeekV3Experts(fields, is_glm, sizes.experts);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  return sizes;
}

inline DescribedModel ReadDeepSeek2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const DeepSeekV3Sizes sizes = ReadGgufDeepSeek2Sizes(fields, facts, {});
  const bool is_glm = sizes.attention.rope.scaling == RopeScaling::kNone;
  return {is_glm ? Glm4MoeLiteFamily::kModelType : DeepSeekV3Family::kModelType, DeepSeekV3Spec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DEEPSEEK_V3_DETAIL_DEEPSEEK_V3_H_
