// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Falcon-H1 models. Source:
// models/falcon_h1/configuration_falcon_h1.py and modeling_falcon_h1.py, versions 4.52 to 5 of
// https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_FALCON_H1_DETAIL_FALCON_H1_H_
#define SKALD_FAMILIES_FALCON_H1_DETAIL_FALCON_H1_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/numbers/activation.h"
#include "skald/families/config/short_form.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns an array of `count` multipliers; ones if it is absent.
inline std::vector<double> ReadMultipliers(const JsonFields& fields, const char* name, size_t count) {
  if (fields.Find(name) == nullptr) return std::vector<double>(count, 1.0);
  const std::vector<float> floats = fields.PositiveFloats(name, count);
  std::vector<double> multipliers(count, 1.0);
  std::copy_n(floats.begin(), std::min(floats.size(), count), multipliers.begin());
  return multipliers;
}

inline FalconH1Multipliers ReadFalconH1Multipliers(const JsonFields& fields) {
  const std::vector<double> of_mlp = ReadMultipliers(fields, "mlp_multipliers", 2);
  return {.embedding = fields.Positive("embedding_multiplier", 1.0),
          .head = fields.Positive("lm_head_multiplier", 1.0),
          .attention_in = fields.Positive("attention_in_multiplier", 1.0),
          .attention_out = fields.Positive("attention_out_multiplier", 1.0),
          .key = fields.Positive("key_multiplier", 1.0),
          .ssm_in = fields.Positive("ssm_in_multiplier", 1.0),
          .ssm_out = fields.Positive("ssm_out_multiplier", 1.0),
          .ssm = ReadMultipliers(fields, "ssm_multipliers", 5),
          .gate = of_mlp[0],
          .down = of_mlp[1]};
}

inline Mamba2 ReadFalconH1Mamba(const JsonFields& fields, int model_dim) {
  fields.Expect("mamba_proj_bias", false);
  fields.Expect("mamba_conv_bias", true);
  fields.Expect("mamba_norm_before_gate", false);
  Mamba2 layer = {.heads = fields.Size("mamba_n_heads", 128),
                  .head_dim = 0,
                  .state_dim = fields.Size("mamba_d_state", 256),
                  .groups = fields.Size("mamba_n_groups", 1),
                  .conv_width = fields.Size("mamba_d_conv", 4),
                  .has_norm = fields.Flag("mamba_rms_norm", false)};
  const bool is_given = fields.Find("mamba_d_ssm") != nullptr;
  const int width = is_given ? fields.Size("mamba_d_ssm") : ExpandedSize(fields, "mamba_expand", model_dim);
  const nlohmann::json* const head_dim = fields.Find("mamba_d_head");
  const bool automatic = head_dim == nullptr || *head_dim == nlohmann::json("auto");
  layer.head_dim = automatic ? std::max(1, width / layer.heads) : fields.Size("mamba_d_head");
  if (int64_t{layer.heads} * layer.head_dim != width) {
    fields.WrongValue(
        "mamba_n_heads", layer.heads,
        "mamba_d_ssm / mamba_d_head, that is " + std::to_string(width) + " / " + std::to_string(layer.head_dim));
  }
  if (layer.heads % layer.groups != 0) fields.WrongValue("mamba_n_groups", layer.groups, "a divisor of mamba_n_heads");
  ReadTimeStepLimit(fields, layer);
  return layer;
}

inline DescribedModel ReadFalconH1(const JsonFields& fields) {
  FalconH1Sizes sizes = {.model_dim = fields.Size("hidden_size"),
                         .vocab_size = fields.Size("vocab_size"),
                         .layers = static_cast<int>(LayerCount(fields)),
                         .feed_forward_dim = fields.Size("intermediate_size"),
                         .heads = fields.Size("num_attention_heads")};
  for (const char* const name : {"attention_bias", "mlp_bias", "projectors_bias"}) fields.Expect(name, false);
  fields.Expect("hidden_act", NameOf(Activation::kSilu));
  fields.Expect("mamba_use_mlp", true);
  fields.Expect("attn_layer_indices", nullptr);
  sizes.kv_heads = fields.Size("num_key_value_heads", sizes.heads);
  sizes.head_dim = fields.Size("head_dim", std::max(1, sizes.model_dim / sizes.heads));
  sizes.mamba = ReadFalconH1Mamba(fields, sizes.model_dim);
  sizes.multipliers = ReadFalconH1Multipliers(fields);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  ShortForm ropes = {.head_dim = sizes.head_dim, .rope = {.base = 100000.0}};
  ReadRopes(fields, /*may_be_partial=*/false, ropes);
  sizes.rope = ropes.rope;
  return {FalconH1Family::kModelType, FalconH1Spec(sizes)};
}

// GGUF files hold weights that all multipliers have gone into.
inline DescribedModel ReadFalconH1Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FalconH1Sizes sizes = {.model_dim = fields.Size("embedding_length"),
                         .vocab_size = facts.vocab_size,
                         .layers = fields.Integer("block_count", 1, kMaxLayers),
                         .feed_forward_dim = fields.Size("feed_forward_length"),
                         .heads = fields.Size("attention.head_count"),
                         .kv_heads = fields.Size("attention.head_count_kv"),
                         .head_dim = fields.Size("attention.key_length")};
  fields.Expect("attention.value_length", sizes.head_dim);
  fields.Expect("rope.dimension_count", sizes.head_dim);
  sizes.mamba = ReadGgufMamba2(fields);
  sizes.mamba.has_norm = facts.has_ssm_norm;
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.head_dim));
  return {FalconH1Family::kModelType, FalconH1Spec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_FALCON_H1_DETAIL_FALCON_H1_H_
