// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of gpt-oss models. Sources:
// models/gpt_oss/configuration_gpt_oss.py and modeling_gpt_oss.py, versions 4.55 to 5 of
// https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_GPT_OSS_DETAIL_GPT_OSS_H_
#define SKALD_FAMILIES_GPT_OSS_DETAIL_GPT_OSS_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/gpt_oss/gpt_oss.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns which layers slide: each second one where "layer_types" does not say.
inline LayerFlags GptOssSlidingLayers(const JsonFields& fields, size_t count) {
  return ReadSlidingLayers(fields, count).value_or(GptOssSlides(static_cast<int>(count)));
}

inline DescribedModel ReadGptOss(const JsonFields& fields) {
  fields.Expect("attention_bias", true);
  fields.Expect("hidden_act", "silu");
  fields.Expect("swiglu_alpha", 1.702);
  fields.Expect("swiglu_limit", 7.0);
  const MixtureOfExperts experts = ReadExperts(fields, "num_local_experts", "num_experts_per_tok", "intermediate_size");
  fields.Expect("experts_per_token", experts.chosen);  // the same by another name
  GptOssSizes sizes = {.model_dim = fields.Size("hidden_size"),
                       .vocab_size = fields.Size("vocab_size"),
                       .heads = fields.Size("num_attention_heads"),
                       .kv_heads = fields.Size("num_key_value_heads"),
                       .head_dim = fields.Size("head_dim", 64),
                       .window = fields.Size("sliding_window", 128),
                       .slides = GptOssSlidingLayers(fields, LayerCount(fields)),
                       .experts = experts.experts,
                       .chosen_experts = experts.chosen,
                       .expert_width = experts.width};
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  ShortForm ropes = {.head_dim = sizes.head_dim, .rope = {.base = sizes.rope.base}};
  ReadRopes(fields, /*may_be_partial=*/false, ropes);
  sizes.rope = WithoutUnusedFields(ropes.rope);
  return {GptOssFamily::kModelType, GptOssSpec(sizes)};
}

inline DescribedModel ReadGptOssGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const MixtureOfExperts experts = ReadGgufExpertSizes(fields);
  GptOssSizes sizes = {.model_dim = fields.Size("embedding_length"),
                       .vocab_size = facts.vocab_size,
                       .heads = fields.Size("attention.head_count"),
                       .kv_heads = fields.Size("attention.head_count_kv"),
                       .head_dim = fields.Size("attention.key_length", 64),
                       .window = fields.Size("attention.sliding_window"),
                       .slides = GptOssSlides(fields.Integer("block_count", 1, kMaxLayers)),
                       .experts = experts.experts,
                       .chosen_experts = experts.chosen,
                       .expert_width = experts.width};
  fields.Expect("attention.value_length", sizes.head_dim);
  fields.Expect("rope.dimension_count", sizes.head_dim);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.head_dim));
  sizes.rope.whole_ramp = false;  // which no value tells
  sizes.rope = WithoutUnusedFields(sizes.rope);
  return {GptOssFamily::kModelType, GptOssSpec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GPT_OSS_DETAIL_GPT_OSS_H_
