// SPDX-License-Identifier: Apache-2.0
//
// Llama 4: its row of the registry.

#ifndef SKALD_FAMILIES_LLAMA4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_LLAMA4_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/llama4/llama4.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald::internal {

inline FamilyRules Llama4Rules() {
  return {.implied = ShortFormOf<Llama4Family>(), .experts = ExpertRule::kSomeLayers, .nth_without_rope = 4};
}

// Facts that the short form of a model has no member for.
struct Llama4Facts {
  bool normalizes_heads = true;  // queries and keys of layers with RoPE, after it
  int chunk = 8192;              // 0: layers with RoPE see all
  float growth = 0.1f;           // of the queries of the others; 0: they do not grow
  int growth_context = 8192;     // positions after which they grow
  LayerFlags chunked_here = {};  // of each layer, where a file tells it
};

inline DescribedModel Llama4Model(const ShortForm& a, const Llama4Facts& facts) {
  ModelSpec spec = Expand(a);
  size_t number = 0;
  ChangeLayers<Attention>(spec, [&](Attention& attention) {
    const bool rotates = attention.rotary_dim > 0;
    const bool is_chunked = facts.chunked_here.empty() ? rotates && facts.chunk > 0 : facts.chunked_here[number] != 0;
    ++number;
    if (is_chunked) attention.window = facts.chunk, attention.chunked = true;
    if (rotates && facts.normalizes_heads) {
      attention.head_norm = RmsNorm{.epsilon = a.norm_epsilon, .weight = false};
      attention.norm_after_rope = true;
    }
    if (rotates || facts.growth == 0.0f) return;
    attention.query_growth = facts.growth;
    attention.query_growth_context = facts.growth_context;
    attention.query_growth_first = 1;
  });
  return {a.model_type, std::move(spec)};
}

inline void SetLlama4Experts(MixtureOfExperts experts, uint32_t step, ShortForm& a) {
  experts.normalized = false;
  experts.sigmoid = experts.weighs_input = true;
  experts.shared_width = experts.width;
  a.feed_forward = experts;
  SetDenseLayers(a, [step](uint32_t layer) { return (layer + 1) % step != 0; });
}

// A ramp of Llama 3 between two factors that are the same is a step: each frequency is divided by one number or not.
inline RopeSpec WithoutEmptyRamp(const RopeSpec& rope, int rotary_dim) {
  if (rope.scaling != RopeScaling::kLlama3 || rope.low_frequency_factor != rope.high_frequency_factor) return rope;
  constexpr double kTurn = 6.283185307179586;
  RopeSpec step = {.base = rope.base, .scaling = RopeScaling::kLongRope};
  const auto size = static_cast<size_t>(rotary_dim);
  for (size_t pair = 0; pair < size / 2; ++pair) {
    const double turns = rope.original_context * RopeFrequency({.base = rope.base}, pair, size) / kTurn;
    step.factors.push_back(turns > rope.high_frequency_factor ? 1.0f : static_cast<float>(rope.factor));
  }
  return step;
}

// The first files give a number that means the same as true.
inline bool GrowsQueries(const JsonFields& fields) {
  const nlohmann::json* const tuning = fields.Find("attn_temperature_tuning");
  if (tuning != nullptr && tuning->is_number_integer()) return tuning->get<int64_t>() != 0;
  return fields.Flag("attn_temperature_tuning", true);
}

inline void ReadLlama4Sizes(const JsonFields& fields, ShortForm& a) {
  a.model_dim = fields.Size("hidden_size");
  a.feed_forward_dim = fields.Size("intermediate_size_mlp");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads");
  a.head_dim = fields.Size("head_dim", 128);
  a.query_pre_scale = a.head_dim;
  a.layers.assign(LayerCount(fields), LayerKind::kFullAttention);
  ReadLayersWithoutRope(fields, 4, a);
  ReadRopes(fields, /*may_be_partial=*/false, a);
  a.rope = WithoutEmptyRamp(a.rope, a.rotary_dim);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps"));
  a.activation = ReadActivation(fields, a.activation, false);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  fields.Expect("attention_bias", false);
}

inline TextModel ReadLlama4(const JsonFields& fields) {
  ShortForm a = Llama4Rules().implied;
  ReadLlama4Sizes(fields, a);
  const int count = fields.Integer("num_local_experts", 1, kMaxExperts);
  SetLlama4Experts({.experts = count,
                    .chosen = fields.Integer("num_experts_per_tok", 1, count, 1),
                    .width = fields.Size("intermediate_size"),
                    .activation = a.activation},
                   static_cast<uint32_t>(fields.Size("interleave_moe_layer_step", 1)), a);
  if (fields.Find("moe_layers") != nullptr) {
    const std::set<uint32_t> with_experts = ReadLayerNumbers(fields, "moe_layers");
    SetDenseLayers(a, [&](uint32_t layer) { return !with_experts.contains(layer); });
  }
  Llama4Facts facts = {.normalizes_heads = fields.Flag("use_qk_norm", true)};
  const bool has_chunks = !fields.Contains("attention_chunk_size") || fields.Find("attention_chunk_size") != nullptr;
  facts.chunk = has_chunks ? fields.Size("attention_chunk_size", 8192) : 0;
  const auto chunks =
      has_chunks ? ReadLayerTypes(fields, "layer_types", a.layers.size(), "full_attention", "chunked_attention")
                 : std::nullopt;
  if (chunks) facts.chunked_here = *chunks;
  facts.growth_context = fields.Size("floor_scale", 8192);
  facts.growth = static_cast<float>(fields.Positive("attn_scale", 0.1));
  if (!GrowsQueries(fields)) facts.growth = 0.0f;
  return Llama4Model(a, facts);
}

// Of its facts the file tells the sizes alone. Models with 128 experts have no norms of queries and keys, and a window
// of 0 is of models that see all, with a RoPE in every layer, and whose queries do not grow.
inline std::vector<DescribedModel> ReadLlama4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  GgufTensorFacts others = facts;
  others.rope_divisors.clear();
  FamilyRules rules = Llama4Rules();
  const bool sees_all = fields.Contains("attention.sliding_window");
  fields.Expect("attention.sliding_window", 0);
  if (sees_all) rules.nth_without_rope = 0;
  ShortForm a = ReadGgufModel(fields, rules, others);
  const auto* const experts = a.feed_forward->As<MixtureOfExperts>();
  SetLlama4Experts(*experts, static_cast<uint32_t>(fields.Size("interleave_moe_layer_step")), a);
  if (!facts.rope_divisors.empty()) {
    const auto ramp = ScalingFromDivisors(a.rope.base, facts.rope_divisors, static_cast<size_t>(a.rotary_dim));
    a.rope = ramp.value_or(RopeSpec{.base = a.rope.base, .scaling = RopeScaling::kLongRope});
    if (!ramp) a.rope.factors = facts.rope_divisors;
  }
  Llama4Facts own = {.normalizes_heads = a.feed_forward->As<MixtureOfExperts>()->experts != 128};
  if (sees_all) own.chunk = 0, own.growth = 0.0f;
  return {Llama4Model(a, own)};
}

inline constexpr RowLayout kLlama4Stacked = {.transposed = true};

inline constexpr Renaming kLlama4Names[] = {
    {"mlp.gate_proj.", "feed_forward.gate_proj."},
    {"mlp.up_proj.", "feed_forward.up_proj."},
    {"mlp.down_proj.", "feed_forward.down_proj."},
    {"mlp.gate.", "feed_forward.router."},
    {"mlp.experts.gate_proj.weight", "feed_forward.experts.gate_up_proj", kLlama4Stacked},
    {"mlp.experts.up_proj.weight", "feed_forward.experts.gate_up_proj", kLlama4Stacked},
    {"mlp.experts.down_proj.weight", "feed_forward.experts.down_proj", kLlama4Stacked},
    {"mlp.shared_expert.", "feed_forward.shared_expert."}};

inline constexpr PassedFields kLlama4PassedJson[] = {{"no option of the model", "", "for_llm_compressor"}};

inline constexpr ModelType kLlama4Types[] = {{.name = Llama4Family::kModelType, .read = ReadLlama4, .outer = "llama4"}};

// A window of 0 says that all layers see all; another is not told.
inline void TellLlama4(const ModelSpec& spec, nlohmann::json& fields) {
  fields["interleave_moe_layer_step"] = ExpertLayers(spec).step();
  for (const char* const name : {"expert_shared_feed_forward_length", "attention.temperature_scale"})
    fields.erase(name);
  const bool has_chunks = fields.erase("attention.sliding_window") > 0;
  if (!has_chunks) fields["attention.sliding_window"] = 0;
}

inline constexpr GgufArchitecture kLlama4Architectures[] = {
    {.name = "llama4", .read = ReadLlama4Gguf, .is_written = true, .tell = TellLlama4}};

struct Llama4Row {
  static constexpr FamilyRow kRow = {
      .name = "Llama 4 (text)",
      .special = "attention in chunks, layers without RoPE whose queries grow, experts that compute weighed rows",
      .model_types = kLlama4Types,
      .architectures = kLlama4Architectures,
      .names = kLlama4Names,
      .passed_json = kLlama4PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_LLAMA4_DETAIL_FAMILY_H_
