// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of RWKV-7 models. Source: configuration_rwkv7.py and
// modeling_rwkv7.py in fla/models/rwkv7 of https://github.com/fla-org/flash-linear-attention, in whose form they are
// published. "num_heads" is whatever the converter left there: heads are counted by their size.

#ifndef SKALD_FAMILIES_RWKV7_DETAIL_RWKV7_H_
#define SKALD_FAMILIES_RWKV7_DETAIL_RWKV7_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/rwkv7/rwkv7.h"

namespace skald::internal {

// Refuses layers whose values are wider than the model.
inline void ExpectValueDim(const JsonFields& fields, int model_dim) {
  const nlohmann::json* const given = fields.Find("value_dim");
  if (given == nullptr) return;
  const nlohmann::json width(model_dim);
  const bool is_list = given->is_array();
  const bool same =
      is_list ? std::ranges::all_of(*given, [&](const auto& one) { return one == width; }) : *given == width;
  if (same) return;
  const auto other =
      is_list ? std::ranges::find_if(*given, [&](const auto& one) { return one != width; }) : given->end();
  fields.Unsupported("value_dim", is_list ? *other : *given, std::to_string(model_dim) + ", the model's width");
}

inline int Rwkv7FeedForwardDim(const JsonFields& fields, int model_dim) {
  if (fields.Find("intermediate_size") != nullptr) return fields.Size("intermediate_size");
  constexpr int kMultiple = 32;
  constexpr double kMaxRatio = 64.0;
  const double ratio = fields.Positive("hidden_ratio", 4.0);
  if (ratio > kMaxRatio) fields.WrongValue("hidden_ratio", ratio, "at most 64");
  const auto width = static_cast<int64_t>(std::min(ratio, kMaxRatio) * model_dim);
  return static_cast<int>((width + kMultiple - 1) / kMultiple * kMultiple);
}

inline void CheckRwkv7Heads(const JsonFields& fields, const char* name, const Rwkv7Sizes& sizes) {
  if (sizes.model_dim % sizes.head_dim != 0) fields.WrongValue(name, sizes.head_dim, "a divisor of the model's width");
}

inline DescribedModel ReadRwkv7(const JsonFields& fields) {
  Rwkv7Sizes sizes = {.model_dim = fields.Size("hidden_size"),
                      .vocab_size = fields.Size("vocab_size"),
                      .layers = static_cast<int>(LayerCount(fields))};
  fields.Expect("attn", nullptr);
  fields.Expect("hidden_act", "sqrelu");
  fields.Expect("norm_first", true);
  fields.Expect("norm_bias", true);
  ExpectValueDim(fields, sizes.model_dim);
  sizes.feed_forward_dim = Rwkv7FeedForwardDim(fields, sizes.model_dim);
  sizes.head_dim = fields.Size("head_dim", sizes.head_dim);
  CheckRwkv7Heads(fields, "head_dim", sizes);
  sizes.decay_rank = fields.Size("decay_low_rank_dim", 64);
  sizes.rate_rank = fields.Size("a_low_rank_dim", 64);
  sizes.value_rank = fields.Size("v_low_rank_dim", 16);
  sizes.gate_rank = fields.Size("gate_low_rank_dim", 128);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("norm_eps", 1e-5));
  sizes.head_norm_epsilon = static_cast<float>(sizes.head_dim * fields.Positive("norm_eps", 1e-5));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return {Rwkv7Family::kModelType, Rwkv7Spec(sizes)};
}

// Files do not say the epsilon of the heads' norms: llama.cpp has that of heads of 64 for all.
inline DescribedModel ReadRwkv7Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  Rwkv7Sizes sizes = {.model_dim = fields.Size("embedding_length"),
                      .vocab_size = facts.vocab_size,
                      .layers = fields.Integer("block_count", 1, kMaxLayers),
                      .feed_forward_dim = fields.Size("feed_forward_length")};
  sizes.head_dim = fields.Size("wkv.head_size");
  fields.Expect("wkv.head_size", 64);
  fields.Expect("token_shift_count", 2);
  CheckRwkv7Heads(fields, "wkv.head_size", sizes);
  sizes.decay_rank = fields.Size("attention.decay_lora_rank");
  sizes.rate_rank = fields.Size("attention.iclr_lora_rank");
  sizes.value_rank = fields.Size("attention.value_residual_mix_lora_rank");
  sizes.gate_rank = fields.Size("attention.gate_lora_rank");
  sizes.norm.epsilon = static_cast<float>(fields.Positive("attention.layer_norm_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  return {Rwkv7Family::kModelType, Rwkv7Spec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_RWKV7_DETAIL_RWKV7_H_
