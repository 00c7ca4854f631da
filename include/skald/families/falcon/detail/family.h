// SPDX-License-Identifier: Apache-2.0
//
// Falcon 7B and 40B: their row of the registry.

#ifndef SKALD_FAMILIES_FALCON_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_FALCON_DETAIL_FAMILY_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/falcon/falcon.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules FalconRules() { return {.implied = ShortFormOf<FalconFamily>(), .gated = false}; }

// The model, with one norm for both layers of a block, or one each.
inline DescribedModel FalconModel(ShortForm a, bool has_two_norms) {
  if (has_two_norms) a.parallel_layers = false;
  ModelSpec spec = Expand(a);
  for (size_t i = 0; has_two_norms && i < spec.blocks.size(); ++i) {
    spec.blocks[i].norm_name = i % 2 == 0 ? "ln_attn" : "ln_mlp";
    spec.blocks[i].beside_previous = i % 2 != 0;
  }
  return {a.model_type, std::move(spec)};
}

inline void ReadFalconHeads(const JsonFields& fields, bool is_newer, ShortForm& a) {
  a.heads = fields.Size("num_attention_heads");
  const bool has_one = fields.Flag("multi_query", true) && !is_newer;
  a.kv_heads = has_one ? 1 : is_newer ? fields.Size("num_kv_heads", a.heads) : a.heads;
  a.head_dim = a.model_dim / a.heads;
  a.query_pre_scale = a.head_dim;
}

// "num_kv_heads" counts something else in older models, which have one head of keys and values.
inline TextModel ReadFalcon(const JsonFields& fields) {
  fields.Expect("alibi", false);
  fields.Expect("activation", "gelu");
  const bool is_newer = fields.Flag("new_decoder_architecture", false);
  ShortForm a = FalconRules().implied;
  a.model_dim = fields.Size("hidden_size");
  a.vocab_size = fields.Size("vocab_size");
  a.layers.assign(LayerCount(fields), LayerKind::kFullAttention);
  a.feed_forward_dim = fields.Size("ffn_hidden_size", 4 * a.model_dim);
  ReadFalconHeads(fields, is_newer, a);
  ReadRopes(fields, /*may_be_partial=*/false, a);
  SetNormEpsilon(static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-5)), a);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", true);
  a.qkv_bias = a.attention_output_bias = a.feed_forward_bias = fields.Flag("bias", false);
  if (!is_newer) fields.Expect("parallel_attn", true);
  const int norms = is_newer ? fields.Integer("num_ln_in_parallel_attn", 1, 2, 2) : 1;
  TakeGates(FalconRules(), a);
  return FalconModel(a, norms == 2);
}

inline std::vector<DescribedModel> ReadFalconGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return {FalconModel(ReadGgufModel(fields, FalconRules(), facts), facts.has_second_attention_norm)};
}

inline constexpr RowLayout kByKVHeads = {.by_units = true};

inline constexpr Renaming kFalconNames[] = {{"self_attn.q_proj.", "self_attention.query_key_value.", kByKVHeads},
                                            {"self_attn.k_proj.", "self_attention.query_key_value.", kByKVHeads},
                                            {"self_attn.v_proj.", "self_attention.query_key_value.", kByKVHeads},
                                            {"self_attn.o_proj.", "self_attention.dense."},
                                            {"mlp.up_proj.", "mlp.dense_h_to_4h."},
                                            {"mlp.down_proj.", "mlp.dense_4h_to_h."}};

inline constexpr Renaming kFalconGgufNames[] = {{"ln_attn.", "attn_norm_2."}, {"ln_mlp.", "attn_norm."}};

inline constexpr TensorNames kFalconTensors[] = {{.body = "transformer.",
                                                  .head = "lm_head.",
                                                  .embedding = "word_embeddings.weight",
                                                  .final_norm = "ln_f.",
                                                  .layers = "h.",
                                                  .renamings = kFalconNames}};

inline constexpr PassedFields kFalconPassedJson[] = {
    {"only counts with new_decoder_architecture, and is read with it", "", "num_kv_heads num_ln_in_parallel_attn"},
    {"only counts without new_decoder_architecture, and is read there", "", "multi_query parallel_attn"},
    {"residuals are of what is before norms", "", "apply_residual_connection_post_layernorm", false}};

inline constexpr ModelType kFalconTypes[] = {{.name = FalconFamily::kModelType, .read = ReadFalcon}};

inline constexpr GgufArchitecture kFalconArchitectures[] = {
    {.name = "falcon", .read = ReadFalconGguf, .is_written = true, .written_names = kJoinedGgufNames}};

struct FalconRow {
  static constexpr FamilyRow kRow = {
      .name = "Falcon 7B, Falcon 40B",
      .special = "attention beside feed-forward layer, after one LayerNorm or each after its own",
      .model_types = kFalconTypes,
      .architectures = kFalconArchitectures,
      .gguf_names = kFalconGgufNames,
      .own_names = kFalconTensors,
      .passed_json = kFalconPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_FALCON_DETAIL_FAMILY_H_
