// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of the text part of Gemma 4 models. Sources:
// models/gemma4/configuration_gemma4.py and modeling_gemma4.py, version 5 of
// https://github.com/huggingface/transformers; conversion/gemma.py of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_GEMMA4_DETAIL_GEMMA4_H_
#define SKALD_FAMILIES_GEMMA4_DETAIL_GEMMA4_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns which layers slide: all but each sixth where "layer_types" does not say, and never the last one.
inline LayerFlags Gemma4SlidingLayers(const JsonFields& fields, size_t count) {
  LayerFlags slides = ReadSlidingLayers(fields, count).value_or(Gemma4Slides(static_cast<int>(count), 6));
  slides.back() = false;
  return slides;
}

// Reads the sizes of heads in full layers, which "per_layer_config" of newer files has for each of them.
inline void ReadGemma4FullHeads(const JsonFields& fields, Gemma4Sizes& sizes) {
  sizes.full_head_dim = fields.Size("global_head_dim", sizes.full_head_dim);
  sizes.full_kv_heads = fields.Size("num_global_key_value_heads", sizes.kv_heads);
  const nlohmann::json* const layers = fields.Find("per_layer_config");
  const auto by_layer = fields.Object("per_layer_config");
  if (!by_layer) return;
  const nlohmann::json* first = nullptr;
  for (const auto& [number, layer] : layers->items()) {
    size_t i = 0;
    while (i < sizes.slides.size() && (sizes.slides[i] || std::to_string(i) != number)) ++i;
    if (i == sizes.slides.size() || (first != nullptr && layer != *first)) {
      fields.Unsupported("per_layer_config", number, "the same sizes for all full layers");
    }
    first = &layer;
    if (const auto of_layer = by_layer->Object(number.c_str())) {
      sizes.full_head_dim = of_layer->Size("head_dim", sizes.full_head_dim);
      sizes.full_kv_heads = of_layer->Size("num_key_value_heads", sizes.full_kv_heads);
    }
  }
}

inline void ReadGemma4Ropes(const JsonFields& fields, Gemma4Sizes& sizes) {
  const auto ropes = fields.Object("rope_parameters");
  if (!ropes) return fields.Missing("rope_parameters");
  const auto sliding = ropes->Object("sliding_attention"), full = ropes->Object("full_attention");
  if (!sliding) return ropes->Missing("sliding_attention");
  if (!full) return ropes->Missing("full_attention");
  sliding->Expect("rope_type", "default");
  sliding->Expect("partial_rotary_factor", 1.0);
  sizes.sliding_rope.base = sliding->Positive("rope_theta", sizes.sliding_rope.base);
  sizes.rope = {.base = full->Positive("rope_theta", sizes.rope.base)};
  const std::string type = full->String("rope_type", NameOf(RopeScaling::kProportional));
  if (type == NameOf(RopeScaling::kNone)) return full->Expect("partial_rotary_factor", 1.0);
  if (type != NameOf(RopeScaling::kProportional)) {
    return full->Unsupported("rope_type", type, R"("default" and "proportional")");
  }
  const double part = full->Positive("partial_rotary_factor", 1.0);
  if (part > 1.0) full->WrongValue("partial_rotary_factor", part, "at most 1");
  sizes.rope.scaling = RopeScaling::kProportional;
  sizes.rope.turning_pairs = static_cast<int>(std::min(part, 1.0) * sizes.full_head_dim / 2.0);
}

inline void TakeExperts(const MixtureOfExperts& experts, Gemma4Sizes& sizes) {
  sizes.experts = experts.experts, sizes.chosen_experts = experts.chosen, sizes.expert_width = experts.width;
}

inline DescribedModel ReadGemma4(const JsonFields& fields) {
  fields.Expect("attention_bias", false);
  fields.Expect("hidden_activation", "gelu_pytorch_tanh");
  fields.Expect("use_bidirectional_attention", "vision");  // of images alone
  Gemma4Sizes sizes = {.model_dim = fields.Size("hidden_size"),
                       .vocab_size = fields.Size("vocab_size"),
                       .feed_forward_dim = fields.Size("intermediate_size"),
                       .slides = Gemma4SlidingLayers(fields, LayerCount(fields)),
                       .heads = fields.Size("num_attention_heads"),
                       .kv_heads = fields.Size("num_key_value_heads"),
                       .head_dim = fields.Size("head_dim", 256)};
  const int layers = static_cast<int>(sizes.slides.size());
  ReadGemma4FullHeads(fields, sizes);
  sizes.window = fields.Size("sliding_window", sizes.window);
  sizes.keys_as_values = fields.Flag("attention_k_eq_v", false);
  if (!sizes.keys_as_values) sizes.full_kv_heads = sizes.kv_heads;
  sizes.shared_layers = fields.Integer("num_kv_shared_layers", 0, layers - 1, 0);
  sizes.wide_shared = fields.Flag("use_double_wide_mlp", false);
  sizes.per_layer_dim = fields.Integer("hidden_size_per_layer_input", 0, 1 << 16, 0);
  if (sizes.per_layer_dim > 0) fields.Expect("vocab_size_per_layer_input", sizes.vocab_size);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", sizes.norm_epsilon));
  sizes.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", 0.0f);
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", true);
  if (fields.Flag("enable_moe_block", false)) {
    TakeExperts(ReadExperts(fields, "num_experts", "top_k_experts", "moe_intermediate_size"), sizes);
  }
  ReadGemma4Ropes(fields, sizes);
  return {Gemma4Family::kModelType, Gemma4Spec(sizes)};
}

// Returns the value of a field that is one whole number for all layers, or an array with one for each.
inline std::vector<int> ReadForEachLayer(const JsonFields& fields, const char* name, size_t layers) {
  const nlohmann::json* const found = fields.Find(name);
  if (found == nullptr || !found->is_array()) return std::vector<int>(layers, fields.Size(name));
  std::vector<int> values;
  for (const nlohmann::json& one : *found) {
    const int64_t value = one.is_number_integer() ? one.get<int64_t>() : 0;
    if (value > 0 && value <= 1 << 24) values.push_back(static_cast<int>(value));
  }
  if (values.size() == layers && found->size() == layers) return values;
  fields.WrongValue(name, *found, "a positive whole number, or an array of block_count such");
  return std::vector<int>(layers, 1);
}

// Reads the RoPE of full layers. Files say by divisors which frequencies are kept: 1 for those, a huge number for
// others.
inline RopeSpec ReadGemma4GgufRope(const JsonFields& fields, const GgufTensorFacts& facts, int head_dim) {
  RopeSpec rope = {.base = fields.Positive("rope.freq_base", 1e6)};
  (void)fields.Find(kRopeDivisors);
  fields.Expect("rope.dimension_count", head_dim);
  if (facts.rope_divisors.empty()) return rope;
  const auto kept = static_cast<size_t>(std::ranges::count(facts.rope_divisors, 1.0f));
  const bool fits = facts.rope_divisors.size() == static_cast<size_t>(head_dim) / 2 && kept > 0 &&
                    std::all_of(facts.rope_divisors.begin() + static_cast<ptrdiff_t>(kept), facts.rope_divisors.end(),
                                [](float divisor) { return divisor >= 1e20f; });
  if (!fits) {
    fields.WrongValue(kRopeDivisors, facts.rope_divisors.size(),
                      "half as many numbers as attention.key_length, ones and then huge ones");
  }
  rope.scaling = RopeScaling::kProportional;
  rope.turning_pairs = static_cast<int>(kept);
  return rope;
}

inline DescribedModel ReadGemma4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const int layers = fields.Integer("block_count", 1, kMaxLayers);
  const auto count = static_cast<size_t>(layers);
  Gemma4Sizes sizes = {.model_dim = fields.Size("embedding_length"), .vocab_size = facts.vocab_size};
  sizes.slides.assign(count, false);
  const char* const kPattern = "attention.sliding_window_pattern";
  const nlohmann::json* const pattern = fields.Find(kPattern);
  if (pattern == nullptr) fields.Missing(kPattern);
  const bool is_list = pattern != nullptr && pattern->is_array() && pattern->size() == count;
  if (pattern != nullptr && !is_list) fields.WrongValue(kPattern, *pattern, "an array of block_count truths");
  for (size_t i = 0; is_list && i < count; ++i) sizes.slides[i] = (*pattern)[i] == nlohmann::json(true);
  const std::vector<int> widths = ReadForEachLayer(fields, "feed_forward_length", count);
  const std::vector<int> kv_heads = ReadForEachLayer(fields, "attention.head_count_kv", count);
  sizes.feed_forward_dim = widths.front();
  sizes.wide_shared = widths.back() != widths.front();
  sizes.heads = fields.Size("attention.head_count");
  for (size_t i = 0; i < count; ++i) (sizes.slides[i] ? sizes.kv_heads : sizes.full_kv_heads) = kv_heads[i];
  sizes.head_dim = fields.Size("attention.key_length_swa");
  sizes.full_head_dim = fields.Size("attention.key_length");
  fields.Expect("attention.value_length_swa", sizes.head_dim);
  fields.Expect("attention.value_length", sizes.full_head_dim);
  fields.Expect("rope.dimension_count_swa", sizes.head_dim);
  sizes.window = fields.Size("attention.sliding_window");
  sizes.shared_layers = fields.Integer("attention.shared_kv_layers", 0, layers - 1, 0);
  sizes.keys_as_values = facts.value_projections < layers - sizes.shared_layers;
  sizes.per_layer_dim = fields.Integer("embedding_length_per_layer_input", 0, 1 << 16, 0);
  if (fields.Integer("expert_count", 0, kMaxExperts, 0) > 0) {
    TakeExperts(ReadGgufExpertSizes(fields), sizes);
  }
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", 0.0f);
  sizes.tied_embeddings = !facts.has_head;
  sizes.rope = ReadGemma4GgufRope(fields, facts, sizes.full_head_dim);
  sizes.sliding_rope.base = fields.Positive("rope.freq_base_swa", sizes.sliding_rope.base);
  return {Gemma4Family::kModelType, Gemma4Spec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA4_DETAIL_GEMMA4_H_
