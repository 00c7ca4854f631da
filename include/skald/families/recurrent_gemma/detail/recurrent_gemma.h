// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of RecurrentGemma. Settings of its configuration class that no published checkpoint uses (other
// biases, activations, norms) are refused.
//
// Source: configuration_recurrent_gemma.py, versions 4.52 to 5 of https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_RECURRENT_GEMMA_H_
#define SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_RECURRENT_GEMMA_H_

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"

namespace skald::internal {

// The pattern in "block_types" or "_block_types", repeated over all layers.
inline std::vector<LayerKind> ReadBlockTypes(const JsonFields& fields) {
  nlohmann::json standard = nlohmann::json::array();
  const JsonGuard guard(standard);
  for (const char* const type : {"recurrent", "recurrent", "attention"}) standard.push_back(type);
  const char* const name = fields.Find("block_types") != nullptr ? "block_types" : "_block_types";  // as published
  const nlohmann::json* given = fields.Find(name);
  const nlohmann::json& pattern = given == nullptr ? standard : *given;
  if (!pattern.is_array() || pattern.empty()) {
    fields.WrongValue(name, pattern, R"(an array of "recurrent" and "attention")");
    return {};
  }
  const size_t count = LayerCount(fields);
  std::vector<LayerKind> layers;
  for (size_t i = 0; i < count; ++i) {
    const nlohmann::json& type = pattern[i % pattern.size()];
    const bool recurrent = type == nlohmann::json("recurrent");
    layers.push_back(recurrent ? LayerKind::kRgLru : LayerKind::kSlidingAttention);
    if (!recurrent && type != nlohmann::json("attention")) {
      fields.Unsupported(name, type, R"("recurrent" and "attention")");
    }
  }
  return layers;
}

// Reads the RoPE, whose fields version 5 of transformers moved into an object.
inline void ReadPartialRope(const JsonFields& fields, ShortForm& a) {
  const JsonFields rope = fields.Object("rope_parameters").value_or(fields);
  rope.Expect("rope_type", "default");
  a.rope.base = rope.Positive("rope_theta", fields.Positive("rope_theta", a.rope.base));
  const double factor = rope.Positive("partial_rotary_factor", fields.Positive("partial_rotary_factor", 0.5));
  a.rotary_dim = static_cast<int>(std::fmin(factor, 1.0) * a.head_dim);
  if (factor > 1.0) rope.WrongValue("partial_rotary_factor", factor, "at most 1");
}

inline ShortForm ReadRecurrentGemma(const JsonFields& fields) {
  ShortForm a = ShortFormOf<RecurrentGemmaFamily>();
  fields.Expect("hidden_activation", NameOf(a.activation));  // also of the gate beside the recurrence
  fields.Expect("rope_scaling", nullptr);
  a.model_dim = fields.Size("hidden_size");
  const int doubled = fields.Size("intermediate_size");
  if (doubled % 2 != 0) fields.WrongValue("intermediate_size", doubled, "even: its half is the width");
  a.feed_forward_dim = doubled / 2;
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads", a.heads);
  a.head_dim = fields.Size("head_dim", a.model_dim / a.heads);
  a.query_pre_scale = a.head_dim;
  a.qkv_bias = fields.Flag("attention_bias", false);
  a.layers = ReadBlockTypes(fields);
  a.window = fields.Size("attention_window_size", 2048) + 1;
  ReadPartialRope(fields, a);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", 1e-6));
  a.final_softcap = ReadSoftcap(fields, "logits_soft_cap", a.final_softcap);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  a.rg_lru = {
      .width = fields.Size("lru_width", a.model_dim), .blocks = a.heads, .conv_width = fields.Size("conv1d_width", 4)};
  return a;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_RECURRENT_GEMMA_DETAIL_RECURRENT_GEMMA_H_
