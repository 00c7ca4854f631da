// SPDX-License-Identifier: Apache-2.0
//
// The inverse of ParseConfigJson, for tests: every field of a ShortForm, in the spelling of transformers
// 4.

#ifndef SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_
#define SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/families/config/differences.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/gemma2/gemma2.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/qwen3/qwen3_moe.h"
#include "skald/families/smollm3/smollm3.h"

namespace skald::testing {

// The differences of the models of two short forms.
inline std::vector<std::string> Differences(const ShortForm& a, const ShortForm& b) {
  return skald::Differences(Expand(a), Expand(b));
}

inline nlohmann::json ScalingJson(const RopeSpec& rope) {
  if (rope.scaling == RopeScaling::kNone) return nullptr;
  if (rope.scaling == RopeScaling::kLongRope) {
    return {{"rope_type", "longrope"},
            {"long_factor", rope.factors},
            {"short_factor", rope.short_factors},
            {"attention_factor", rope.attention_factor},
            {"original_max_position_embeddings", static_cast<int>(rope.original_context)}};
  }
  nlohmann::json scaling = {{"factor", rope.factor}};
  scaling["rope_type"] = rope.scaling == RopeScaling::kLinear ? "linear" : "llama3";
  if (rope.scaling == RopeScaling::kLlama3) {
    scaling["low_freq_factor"] = rope.low_frequency_factor;
    scaling["high_freq_factor"] = rope.high_frequency_factor;
    scaling["original_max_position_embeddings"] = rope.original_context;
  }
  return scaling;
}

inline nlohmann::json TransformerJson(const ShortForm& a) {
  const auto or_null = [](auto value) { return value == 0 ? nlohmann::json() : nlohmann::json(value); };
  nlohmann::json types, rotates;
  for (const LayerKind kind : a.layers) {
    types.push_back(kind == LayerKind::kSlidingAttention ? "sliding_attention" : "full_attention");
    rotates.push_back(kind == LayerKind::kNopeAttention ? 0 : 1);
  }
  nlohmann::json json = {
      {"model_type", a.model_type},
      {"hidden_size", a.model_dim},
      {"intermediate_size", a.feed_forward_dim},
      {"vocab_size", a.vocab_size},
      {"num_hidden_layers", a.layers.size()},
      {"num_attention_heads", a.heads},
      {"num_key_value_heads", a.kv_heads},
      {"head_dim", a.head_dim},
      {"layer_types", types},
      {"sliding_window", or_null(a.window)},
      {"rope_theta", a.rope.base},
      {"rope_scaling", ScalingJson(a.rope)},
      {"rms_norm_eps", a.norm_epsilon},
      {a.model_type.starts_with("gemma") ? "hidden_activation" : "hidden_act", std::string(NameOf(a.activation))},
      {"tie_word_embeddings", a.tied_embeddings},
  };
  if (const auto* experts = a.feed_forward ? a.feed_forward->As<MixtureOfExperts>() : nullptr) {
    json["num_local_experts"] = experts->experts;
    json["num_experts_per_tok"] = experts->chosen;
    if (a.feed_forward_dim == 0) json["intermediate_size"] = experts->width;
    if (a.model_type == Qwen3MoeFamily::kModelType) {
      json["moe_intermediate_size"] = experts->width;
      json["norm_topk_prob"] = experts->normalized;
      json["mlp_only_layers"] = a.dense_layers;
    }
  }
  if (a.model_type == Gemma2Family::kModelType || a.model_type == Gemma3Family::kModelType) {
    json["query_pre_attn_scalar"] = a.query_pre_scale;
    json["attn_logit_softcapping"] = or_null(a.attention_softcap);
    json["final_logit_softcapping"] = or_null(a.final_softcap);
  }
  if (a.model_type == SmolLM3Family::kModelType) json["no_rope_layers"] = rotates;
  if (a.rotary_dim != a.head_dim) json["partial_rotary_factor"] = static_cast<double>(a.rotary_dim) / a.head_dim;
  if (a.sliding_rope) json["rope_local_base_freq"] = a.sliding_rope->base;
  return json;
}

inline nlohmann::json RecurrentGemmaJson(const ShortForm& a) {
  nlohmann::json types;
  for (const LayerKind kind : a.layers) types.push_back(IsRecurrent(kind) ? "recurrent" : "attention");
  return {
      {"model_type", a.model_type},
      {"hidden_size", a.model_dim},
      {"intermediate_size", 2 * a.feed_forward_dim},
      {"vocab_size", a.vocab_size},
      {"num_hidden_layers", a.layers.size()},
      {"block_types", types},
      {"num_attention_heads", a.heads},
      {"num_key_value_heads", a.kv_heads},
      {"head_dim", a.head_dim},
      {"partial_rotary_factor", static_cast<double>(a.rotary_dim) / a.head_dim},
      {"attention_window_size", a.window - 1},
      {"attention_bias", a.qkv_bias},
      {"rope_theta", a.rope.base},
      {"rms_norm_eps", a.norm_epsilon},
      {"hidden_activation", std::string(NameOf(a.activation))},
      {"logits_soft_cap", a.final_softcap},
      {"tie_word_embeddings", a.tied_embeddings},
      {"lru_width", a.rg_lru.width},
      {"conv1d_width", a.rg_lru.conv_width},
  };
}

// Fields of both Mamba families.
inline nlohmann::json StateSpaceJson(const ShortForm& a, int conv_width, int state_dim) {
  return {
      {"model_type", a.model_type},
      {"hidden_size", a.model_dim},
      {"vocab_size", a.vocab_size},
      {"num_hidden_layers", a.layers.size()},
      {"layer_norm_epsilon", a.norm_epsilon},
      {"hidden_act", "silu"},
      {"use_bias", false},
      {"use_conv_bias", true},
      {"tie_word_embeddings", a.tied_embeddings},
      {"conv_kernel", conv_width},
      {"state_size", state_dim},
  };
}

inline nlohmann::json MambaJson(const ShortForm& a) {
  nlohmann::json json = StateSpaceJson(a, a.mamba.conv_width, a.mamba.state_dim);
  json["intermediate_size"] = a.mamba.inner_dim;
  json["time_step_rank"] = a.mamba.time_step_rank;
  return json;
}

inline nlohmann::json Mamba2Json(const ShortForm& a) {
  const Mamba2& layer = a.mamba2;
  nlohmann::json json = StateSpaceJson(a, layer.conv_width, layer.state_dim);
  json["expand"] = static_cast<double>(layer.heads * layer.head_dim) / a.model_dim;
  json["num_heads"] = layer.heads;
  json["head_dim"] = layer.head_dim;
  json["n_groups"] = layer.groups;
  json["rms_norm"] = true;
  json["time_step_limit"] = {layer.time_step_min, {{"__float__", "Infinity"}}};  // all Configs that are tested
  return json;
}

inline nlohmann::json Granite4Json(const ShortForm& a) {
  nlohmann::json types;
  for (const LayerKind kind : a.layers) types.push_back(kind == LayerKind::kMamba2 ? "mamba" : "attention");
  const bool rotates = std::ranges::count(a.layers, LayerKind::kFullAttention) > 0;
  const auto* const experts = a.feed_forward ? a.feed_forward->As<MixtureOfExperts>() : nullptr;
  nlohmann::json json = {
      {"model_type", a.model_type},
      {"hidden_size", a.model_dim},
      {"vocab_size", a.vocab_size},
      {"num_hidden_layers", a.layers.size()},
      {"layer_types", types},
      {"num_attention_heads", a.heads},
      {"num_key_value_heads", a.kv_heads},
      {"head_dim", a.head_dim},
      {"position_embedding_type", rotates ? "rope" : "nope"},
      {"rope_theta", a.rope.base},
      {"rms_norm_eps", a.norm_epsilon},
      {"attention_multiplier", static_cast<float>(1.0 / std::sqrt(a.query_pre_scale))},
      {"embedding_multiplier", a.embedding_multiplier},
      {"residual_multiplier", a.residual_multiplier},
      {"logits_scaling", a.logits_scaling},
      {"tie_word_embeddings", a.tied_embeddings},
      {"shared_intermediate_size", a.feed_forward_dim},
      {"num_local_experts", experts == nullptr ? 0 : experts->experts},
      {"mamba_n_heads", a.mamba2.heads},
      {"mamba_d_head", a.mamba2.head_dim},
      {"mamba_d_state", a.mamba2.state_dim},
      {"mamba_d_conv", a.mamba2.conv_width},
      {"mamba_expand", static_cast<double>(a.mamba2.heads * a.mamba2.head_dim) / a.model_dim},
  };
  if (experts == nullptr) return json;
  json["num_experts_per_tok"] = experts->chosen;
  json["intermediate_size"] = experts->width;
  return json;
}

inline nlohmann::json ToJson(const ShortForm& a) {
  if (a.model_type == "granitemoehybrid") return Granite4Json(a);
  if (a.model_type == "recurrent_gemma") return RecurrentGemmaJson(a);
  if (a.model_type == "mamba") return MambaJson(a);
  if (a.model_type == "mamba2") return Mamba2Json(a);
  return TransformerJson(a);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_
