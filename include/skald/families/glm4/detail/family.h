// SPDX-License-Identifier: Apache-2.0
//
// GLM-4-0414: its row of the registry.

#ifndef SKALD_FAMILIES_GLM4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GLM4_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/glm4/glm4.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline FamilyRules Glm4Rules() {
  return {.implied = ShortFormOf<Glm4Family>(),
          .head_dim = 128,
          .may_rotate_partly = true,
          .rotary_part = 0.5,
          .standard_epsilon = 1.5625e-7};
}

// The model, with the family's names of norms: "post_attention_layernorm" is before the feed-forward layer.
inline DescribedModel Glm4Model(const ShortForm& a) {
  ModelSpec spec = Expand(a);
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    Block& block = spec.blocks[i];
    if (i % 2 != 0) block.norm_name = "feed_forward_norm";
    block.post_norm_name = i % 2 == 0 ? "post_self_attn_layernorm" : "post_mlp_layernorm";
  }
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadGlm4(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Glm4Rules());
  a.qkv_bias = fields.Flag("attention_bias", true);
  return Glm4Model(a);
}

// Whether positions are in sections: then the converter moves the rows that RoPE turns apart.
inline bool HasSections(const JsonFields& fields) {
  const nlohmann::json* const sections = fields.Find("rope.dimension_sections");
  if (sections == nullptr || !sections->is_array()) return false;
  return std::any_of(sections->begin(), sections->end(), [](const auto& one) { return one != nlohmann::json(0); });
}

inline std::vector<DescribedModel> ReadGlm4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, Glm4Rules(), facts);
  a.qkv_bias = facts.has_query_bias;
  a.interleaved_rope = !HasSections(fields);
  return {Glm4Model(a)};
}

inline constexpr Renaming kGlm4GgufNames[] = {{"post_self_attn_layernorm.", "post_attention_norm."},
                                              {"post_mlp_layernorm.", "post_ffw_norm."}};

inline constexpr ModelType kGlm4Types[] = {{.name = Glm4Family::kModelType, .read = ReadGlm4}};

inline constexpr Renaming kGlm4WrittenNames[] = {{"mlp.gate_proj.", "ffn_up."}};

inline constexpr GgufArchitecture kGlm4Architectures[] = {
    {.name = "glm4", .read = ReadGlm4Gguf, .is_written = true, .written_names = kGlm4WrittenNames}};

struct Glm4Row {
  static constexpr FamilyRow kRow = {
      .name = "GLM-4-0414",
      .special = "norms before and after layers, RoPE of neighbours in half of each head",
      .model_types = kGlm4Types,
      .architectures = kGlm4Architectures,
      .gguf_names = kGlm4GgufNames};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GLM4_DETAIL_FAMILY_H_
