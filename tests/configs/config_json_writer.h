// SPDX-License-Identifier: Apache-2.0
//
// The inverse of ParseConfigJson, for tests: every field of an Architecture, in the spelling of transformers
// 4.

#ifndef SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_
#define SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_

#include <nlohmann/json.hpp>
#include <string>

#include "skald/configs/architecture.h"

namespace skald::testing {

inline const char* NameOf(Activation activation) {
  if (activation == Activation::kSilu) return "silu";
  return activation == Activation::kGeluTanh ? "gelu_pytorch_tanh" : "gelu";
}

inline nlohmann::json ScalingJson(const RopeSpec& rope) {
  if (rope.scaling == RopeScaling::kNone) return nullptr;
  nlohmann::json scaling = {{"factor", rope.factor}};
  scaling["rope_type"] = rope.scaling == RopeScaling::kLinear ? "linear" : "llama3";
  if (rope.scaling == RopeScaling::kLlama3) {
    scaling["low_freq_factor"] = rope.low_frequency_factor;
    scaling["high_freq_factor"] = rope.high_frequency_factor;
    scaling["original_max_position_embeddings"] = rope.original_context;
  }
  return scaling;
}

inline nlohmann::json ToJson(const Architecture& a) {
  const auto or_null = [](auto value) { return value == 0 ? nlohmann::json() : nlohmann::json(value); };
  nlohmann::json types;
  for (const LayerKind kind : a.layers) {
    types.push_back(kind == LayerKind::kFullAttention ? "full_attention" : "sliding_attention");
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
      {"hidden_act", NameOf(a.activation)},
      {"hidden_activation", NameOf(a.activation)},
      {"query_pre_attn_scalar", a.query_pre_scale},
      {"attn_logit_softcapping", or_null(a.attention_softcap)},
      {"final_logit_softcapping", or_null(a.final_softcap)},
      {"tie_word_embeddings", a.tied_embeddings},
  };
  if (a.sliding_rope) json["rope_local_base_freq"] = a.sliding_rope->base;
  return json;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONFIGS_CONFIG_JSON_WRITER_H_
