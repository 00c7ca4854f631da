// SPDX-License-Identifier: Apache-2.0
//
// Gemma 3: its row of the registry.

#ifndef SKALD_FAMILIES_GEMMA3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GEMMA3_DETAIL_FAMILY_H_

#include <nlohmann/json.hpp>
#include <utility>

#include "skald/families/config/model_config.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline FamilyRules Gemma3Rules() {
  return {.implied = ShortFormOf<Gemma3Family>(),
          .layers = LayerRule::kAllButNth,
          .nth = 6,
          .head_dim = 256,
          .reads_attention_bias = true,
          .reads_both_ways = true,
          .reads_caps = true,
          .gelu_means_tanh = true,
          .largest_layers = 62};
}

// EmbeddingGemma (arXiv:2509.20354) sees both ways, half of its window on each side.
inline TextModel ReadGemma3(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Gemma3Rules());
  if (a.attention_softcap > 0.0f) {  // which the original ignores
    fields.Unsupported("attn_logit_softcapping", a.attention_softcap, "null");
  }
  if (a.both_ways && a.window > 0) a.window = a.window / 2 + 1;
  return a;
}

// The same of the architecture that llama.cpp has for it.
inline DescribedModel ReadGemmaEmbedding(const JsonFields& fields, const GgufTensorFacts& facts) {
  fields.Expect("attention.causal", false);
  ShortForm a = ReadGgufModel(fields, Gemma3Rules(), facts);
  a.both_ways = true;
  if (a.window > 0) a.window = a.window / 2 + 1;
  return {a.model_type, Expand(a)};
}

// The sizes that Gemma3TextConfig assumes. Published files rely on them: transformers writes only what
// differs when a model's text part is an object inside its config.json, and some take that object out and use
// it alone.
inline void AddGemma3TextDefaults(nlohmann::json& defaults) {
  constexpr std::pair<const char*, int> kSizes[] = {
      {"vocab_size", 262208},     {"hidden_size", 2304},      {"intermediate_size", 9216}, {"num_hidden_layers", 26},
      {"num_attention_heads", 8}, {"num_key_value_heads", 4}, {"sliding_window", 4096}};
  for (const auto& [name, size] : kSizes) defaults[name] = size;
  defaults["model_type"] = Gemma3Family::kModelType;
  defaults["rms_norm_eps"] = 1e-6;
}

inline constexpr PassedFields kGemma3PassedJson[] = {
    {"the older forms of layer_types, which are read where it is missing", "",
     "sliding_window_pattern _sliding_window_pattern"}};

inline constexpr PassedFields kGemma3PassedGguf[] = {
    {"of dense layers after the model, which OpenEncoder reads", "",
     "dense_2_feat_in dense_2_feat_out dense_3_feat_in dense_3_feat_out"}};

// Windows are counted on both sides of a token.
inline void TellGemmaEmbedding(const ModelSpec& spec, nlohmann::json& fields) {
  const auto* const sliding = FindLayer<Attention>(spec, [](const Attention& one) { return one.window > 0; });
  if (sliding != nullptr) fields["attention.sliding_window"] = 2 * (sliding->window - 1);
}

inline constexpr ModelType kGemma3Types[] = {
    {.name = Gemma3Family::kModelType, .read = ReadGemma3, .outer = "gemma3", .add_defaults = AddGemma3TextDefaults}};

inline constexpr GgufArchitecture kGemma3Architectures[] = {
    {.name = "gemma3", .read = ReadGgufWith<Gemma3Rules>, .is_written = true},
    {.name = "gemma-embedding",
     .read = ReadOneGguf<ReadGemmaEmbedding>,
     .is_written = true,
     .is_of = SeesBothWays,
     .tell = TellGemmaEmbedding}};

struct Gemma3Row {
  static constexpr FamilyRow kRow = {.name = "Gemma 3 (text)",
                                     .special = "QK-norm, five sliding layers to one full, two RoPE bases",
                                     .model_types = kGemma3Types,
                                     .architectures = kGemma3Architectures,
                                     .passed_json = kGemma3PassedJson,
                                     .passed_gguf = kGemma3PassedGguf};
  using Published = ConfigTypes<Gemma3_270M, Gemma3_1B, Gemma3_4B, Gemma3_12B, Gemma3_27B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA3_DETAIL_FAMILY_H_
