// SPDX-License-Identifier: Apache-2.0
//
// Command R and Command R7B: their row of the registry.

#ifndef SKALD_FAMILIES_COHERE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_COHERE_DETAIL_FAMILY_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "skald/families/cohere/cohere.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald::internal {

inline FamilyRules CohereRules() {
  return {.implied = ShortFormOf<CohereFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .norm_epsilon = "layer_norm_eps",
          .standard_epsilon = 1e-5};
}

inline FamilyRules Cohere2Rules() {
  FamilyRules rules = CohereRules();
  rules.implied = ShortFormOf<Cohere2Family>();
  rules.layers = LayerRule::kAllButNth;
  rules.nth = 4;
  return rules;
}

// Logits are multiplied by `scale`, and layers of Cohere 2 without a window have no RoPE.
inline ShortForm WithLogitScale(ShortForm a, double scale) {
  a.logits_scaling = static_cast<float>(1.0 / scale);
  if (a.model_type == Cohere2Family::kModelType) {
    std::ranges::replace(a.layers, LayerKind::kFullAttention, LayerKind::kNopeAttention);
  }
  return a;
}

// Command R+ normalises each head of queries and keys.
inline DescribedModel CohereModel(const ShortForm& a, bool normalizes_heads) {
  ModelSpec spec = Expand(a);
  if (normalizes_heads) NormalizeEachHead(a.norm->As<LayerNorm>()->epsilon, spec);
  return {a.model_type, std::move(spec)};
}

template <FamilyRules (*kRules)()>
TextModel ReadCohere(const JsonFields& fields) {
  const ShortForm a = WithLogitScale(ReadTransformer(fields, kRules()), fields.Positive("logit_scale", 0.0625));
  return CohereModel(a, fields.Flag("use_qk_norm", false));
}

template <FamilyRules (*kRules)()>
std::vector<DescribedModel> ReadCohereGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, kRules(), facts);
  a.qkv_bias = facts.has_query_bias;
  a = WithLogitScale(a, fields.Positive("logit_scale"));
  return {CohereModel(a, facts.has_query_norm)};
}

inline constexpr PassedFields kCoherePassedJson[] = {
    {"the older form of layer_types, which is read where it is missing", "cohere2", "sliding_window_pattern"},
    {"likewise", "cohere2", "layer_switch", 4.0},
    {"likewise", "cohere2", "order_of_interleaved_layers", "local_attn_first"},
    {"elements that RoPE turns are neighbours", "cohere2", "position_embedding_type", "rope_gptj"},
    {"RoPE turns whole heads", "cohere2", "rotary_pct", 1.0},
    {"layers are side by side, with gates", "cohere2", "use_gated_activation use_parallel_block", true},
    {"the embedding is the output head; tie_word_embeddings says it", "cohere2", "use_embedding_sharing", true},
    {"embeddings are in one piece", "cohere2", "use_parallel_embedding", false}};

inline constexpr ModelType kCohereTypes[] = {{.name = CohereFamily::kModelType, .read = ReadCohere<CohereRules>},
                                             {.name = Cohere2Family::kModelType, .read = ReadCohere<Cohere2Rules>}};

inline constexpr GgufArchitecture kCohereArchitectures[] = {
    {.name = "command-r", .read = ReadCohereGguf<CohereRules>, .is_written = true, .tell = TellLogitScale},
    {.name = "cohere2", .read = ReadCohereGguf<Cohere2Rules>, .is_written = true, .tell = TellLogitScale}};

struct CohereRow {
  static constexpr FamilyRow kRow = {
      .name = "Command R, Command R+, Command R7B (Cohere 2)",
      .special = "attention beside feed-forward layer, LayerNorm without bias, RoPE of neighbours; layers without RoPE",
      .model_types = kCohereTypes,
      .architectures = kCohereArchitectures,
      .passed_json = kCoherePassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_COHERE_DETAIL_FAMILY_H_
