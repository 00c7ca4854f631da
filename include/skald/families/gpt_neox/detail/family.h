// SPDX-License-Identifier: Apache-2.0
//
// GPT-NeoX and Pythia: their row of the registry.

#ifndef SKALD_FAMILIES_GPT_NEOX_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GPT_NEOX_DETAIL_FAMILY_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/gpt_neox/gpt_neox.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// The part of each head that RoPE turns and its base have names of their own in older files.
inline FamilyRules GptNeoXRules(double rotary_part = 0.25, double base = 10000.0) {
  FamilyRules rules = {.implied = ShortFormOf<GptNeoXFamily>(),
                       .kv_heads_given = false,
                       .may_rotate_partly = true,
                       .rotary_part = rotary_part,
                       .norm_epsilon = "layer_norm_eps",
                       .standard_epsilon = 1e-5,
                       .gated = false};
  rules.implied.rope.base = base;
  return rules;
}

// The model, whose feed-forward layers read what attention reads, or what attention has added to.
inline DescribedModel GptNeoXModel(const ShortForm& a, bool is_parallel) {
  ModelSpec spec = Expand(a);
  for (size_t i = 1; is_parallel && i < spec.blocks.size(); i += 2) spec.blocks[i].beside_previous = true;
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadGptNeoX(const JsonFields& fields) {
  ShortForm a = ReadTransformer(
      fields, GptNeoXRules(fields.Positive("rotary_pct", 0.25), fields.Positive("rotary_emb_base", 10000.0)));
  a.qkv_bias = a.attention_output_bias = fields.Flag("attention_bias", true);
  return GptNeoXModel(a, fields.Flag("use_parallel_residual", true));
}

inline std::vector<DescribedModel> ReadGptNeoXGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const ShortForm a = ReadGgufModel(fields, GptNeoXRules(), facts);
  if (fields.Find("use_parallel_residual") == nullptr) fields.Missing("use_parallel_residual");
  return {GptNeoXModel(a, fields.Flag("use_parallel_residual", true))};
}

inline constexpr RowLayout kByHeads = {.by_units = true};

inline constexpr Renaming kGptNeoXNames[] = {{"feed_forward_norm.", "post_attention_layernorm."},
                                             {"self_attn.q_proj.", "attention.query_key_value.", kByHeads},
                                             {"self_attn.k_proj.", "attention.query_key_value.", kByHeads},
                                             {"self_attn.v_proj.", "attention.query_key_value.", kByHeads},
                                             {"self_attn.o_proj.", "attention.dense."},
                                             {"mlp.up_proj.", "mlp.dense_h_to_4h."},
                                             {"mlp.down_proj.", "mlp.dense_4h_to_h."}};

inline constexpr TensorNames kGptNeoXTensors[] = {{.body = "gpt_neox.",
                                                   .head = "embed_out.",
                                                   .embedding = "embed_in.weight",
                                                   .final_norm = "final_layer_norm.",
                                                   .renamings = kGptNeoXNames}};

inline constexpr ModelType kGptNeoXTypes[] = {{.name = GptNeoXFamily::kModelType, .read = ReadGptNeoX}};

inline constexpr GgufArchitecture kGptNeoXArchitectures[] = {{.name = "gptneox",
                                                              .read = ReadGptNeoXGguf,
                                                              .is_written = true,
                                                              .tell = TellParallelResidual,
                                                              .written_names = kJoinedGgufNames}};

struct GptNeoXRow {
  static constexpr FamilyRow kRow = {
      .name = "GPT-NeoX, Pythia",
      .special = "layers side by side with a LayerNorm each, biases, RoPE of a part of each head",
      .model_types = kGptNeoXTypes,
      .architectures = kGptNeoXArchitectures,
      .own_names = kGptNeoXTensors};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GPT_NEOX_DETAIL_FAMILY_H_
