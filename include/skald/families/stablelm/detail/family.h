// SPDX-License-Identifier: Apache-2.0
//
// StableLM: its row of the registry.

#ifndef SKALD_FAMILIES_STABLELM_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_STABLELM_DETAIL_FAMILY_H_

#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/families/stablelm/stablelm.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald::internal {

inline FamilyRules StableLmRules() {
  return {.implied = ShortFormOf<StableLmFamily>(),
          .may_rotate_partly = true,
          .rotary_part = 0.25,
          .norm_epsilon = "layer_norm_eps",
          .standard_epsilon = 1e-5};
}

// StableLM 2 12B normalises each head of queries and keys.
inline DescribedModel StableLmModel(const ShortForm& a, bool normalizes_heads) {
  ModelSpec spec = Expand(a);
  if (normalizes_heads) NormalizeEachHead(a.norm->As<LayerNorm>()->epsilon, spec);
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadStableLm(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, StableLmRules());
  a.qkv_bias = fields.Flag("use_qkv_bias", false);
  a.parallel_layers = fields.Flag("use_parallel_residual", false);
  return StableLmModel(a, fields.Flag("qk_layernorm", false));
}

// The converter also writes "use_parallel_residual" as true where config.json says nothing: layers side by side have
// one norm.
inline std::vector<DescribedModel> ReadStableLmGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, StableLmRules(), facts);
  a.qkv_bias = facts.has_query_bias;
  a.parallel_layers = fields.Flag("use_parallel_residual", false) && !facts.has_feed_forward_norm;
  return {StableLmModel(a, facts.has_query_norm)};
}

inline constexpr Renaming kStableLmNames[] = {{"self_attn.q_norm.", "self_attn.q_layernorm.norms.#."},
                                              {"self_attn.k_norm.", "self_attn.k_layernorm.norms.#."}};

inline constexpr PassedFields kStableLmPassedJson[] = {
    {"the older name of partial_rotary_factor, which is read", "", "rope_pct", 0.25},
    {"the older name of layer_norm_eps, which is read", "", "norm_eps", 1e-5},
    {"RoPE is not scaled", "", "rotary_scaling_factor", 1.0}};

inline constexpr ModelType kStableLmTypes[] = {{.name = StableLmFamily::kModelType, .read = ReadStableLm}};

inline constexpr GgufArchitecture kStableLmArchitectures[] = {
    {.name = "stablelm", .read = ReadStableLmGguf, .is_written = true, .tell = TellParallelResidual}};

struct StableLmRow {
  static constexpr FamilyRow kRow = {.name = "StableLM",
                                     .special = "LayerNorm, RoPE of a part of each head",
                                     .model_types = kStableLmTypes,
                                     .architectures = kStableLmArchitectures,
                                     .names = kStableLmNames,
                                     .passed_json = kStableLmPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_STABLELM_DETAIL_FAMILY_H_
