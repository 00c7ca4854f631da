// SPDX-License-Identifier: Apache-2.0
//
// InternLM 2 and 2.5: their row of the registry.

#ifndef SKALD_FAMILIES_INTERNLM2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_INTERNLM2_DETAIL_FAMILY_H_

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/internlm2/internlm2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules InternLm2Rules() {
  return {.implied = ShortFormOf<InternLm2Family>(), .kv_heads_given = false, .dynamic_rope = DynamicRope::kPlain};
}

inline DescribedModel InternLm2Model(const ShortForm& a, int longest_text) {
  ModelSpec spec = Expand(a);
  spec.longest_text = longest_text;
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadInternLm2(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, InternLm2Rules());
  a.qkv_bias = a.attention_output_bias = fields.Flag("bias", true);
  return InternLm2Model(a, LongestTextOfPlainRope(fields));
}

// No value says that a RoPE is dynamic: files of such models are those that name no type, as all published ones are.
inline std::vector<DescribedModel> ReadInternLm2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  (void)GgufHasExperts(fields);
  const ShortForm a = ReadGgufModel(fields, InternLm2Rules(), facts);
  return {InternLm2Model(a, fields.Find("rope.scaling.type") == nullptr ? fields.Size("context_length") : 0)};
}

inline void TellRopeType(const ModelSpec& spec, nlohmann::json& fields) {
  if (spec.longest_text > 0) {
    fields["context_length"] = spec.longest_text;
  } else if (!fields.contains("rope.scaling.type")) {
    fields["rope.scaling.type"] = "none";
  }
}

inline constexpr RowLayout kByGroups = {.by_units = true};

inline constexpr Renaming kInternLm2Names[] = {{"input_layernorm.", "attention_norm."},
                                               {"feed_forward_norm.", "ffn_norm."},
                                               {"self_attn.q_proj.", "attention.wqkv.", kByGroups},
                                               {"self_attn.k_proj.", "attention.wqkv.", kByGroups},
                                               {"self_attn.v_proj.", "attention.wqkv.", kByGroups},
                                               {"self_attn.o_proj.", "attention.wo."},
                                               {"mlp.gate_proj.", "feed_forward.w1."},
                                               {"mlp.up_proj.", "feed_forward.w3."},
                                               {"mlp.down_proj.", "feed_forward.w2."}};

inline constexpr TensorNames kInternLm2Tensors[] = {
    {.body = "model.", .head = "output.", .embedding = "tok_embeddings.weight", .renamings = kInternLm2Names}};

inline constexpr ModelType kInternLm2Types[] = {{.name = InternLm2Family::kModelType, .read = ReadInternLm2}};

inline constexpr GgufArchitecture kInternLm2Architectures[] = {
    {.name = "internlm2", .read = ReadInternLm2Gguf, .has_rope_pairs = true, .is_written = true, .tell = TellRopeType}};

struct InternLm2Row {
  static constexpr FamilyRow kRow = {.name = "InternLM 2, InternLM 2.5",
                                     .special = "queries, keys and values joined in groups",
                                     .model_types = kInternLm2Types,
                                     .architectures = kInternLm2Architectures,
                                     .own_names = kInternLm2Tensors};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_INTERNLM2_DETAIL_FAMILY_H_
