// SPDX-License-Identifier: Apache-2.0
//
// GTE: its row of the registry.

#ifndef SKALD_FAMILIES_GTE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GTE_DETAIL_FAMILY_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/gte/gte.h"
#include "skald/families/nomic_bert/nomic_bert.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// NTK scaling as the authors have it, at every length: another base, and every frequency divided by one number
// (modeling.py, NTKScalingRotaryEmbedding).
inline void ReadNtkRope(const JsonFields& fields, int rotary_dim, RopeSpec& rope) {
  rope.base = fields.Positive("rope_theta", rope.base);
  const auto scaling = fields.Object("rope_scaling");
  (void)scaling->String("type");
  scaling->Expect("mixed_b", nullptr);
  const double factor = scaling->Positive("factor");
  if (factor <= 1.0) return scaling->WrongValue("factor", factor, "more than 1");
  rope.base *= factor;
  rope.scaling = RopeScaling::kLinear;
  rope.factor = PortablePow(factor, 2.0 / rotary_dim);
}

inline bool HasNtkRope(const JsonFields& fields) {
  const nlohmann::json* const scaling = fields.Find("rope_scaling");
  return scaling != nullptr && scaling->is_object() && scaling->value("type", nlohmann::json()) == "ntk";
}

// Under the names of transformers, and of the authors' own code
// (https://huggingface.co/Alibaba-NLP/new-impl, configuration.py).
inline DescribedModel ReadGte(const JsonFields& fields) {
  NomicBertSizes sizes = {.model_dim = fields.Size("hidden_size"),
                          .vocab_size = fields.Size("vocab_size"),
                          .layers = static_cast<int>(LayerCount(fields)),
                          .heads = fields.Size("num_attention_heads"),
                          .feed_forward_dim = fields.Size("intermediate_size"),
                          .token_types = fields.Integer("type_vocab_size", 0, 1 << 16, 1),
                          .activation = Activation::kGeluErf,
                          .rope = {.base = 160000.0},
                          .biases = true};
  sizes.activation = ReadActivation(fields, sizes.activation, /*gelu_means_tanh=*/false);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_eps", 1e-12));
  fields.Expect("position_embedding_type", "rope");
  fields.Expect("layer_norm_type", "layer_norm");
  fields.Expect("logn_attention_scale", false);
  fields.Expect("pack_qkv", true);
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("num_attention_heads", sizes.heads, "a divisor of hidden_size");
    sizes.heads = 1;
  }
  if (HasNtkRope(fields)) {
    ReadNtkRope(fields, sizes.model_dim / sizes.heads, sizes.rope);
    return {GteFamily::kModelType, NomicBertSpec(sizes)};
  }
  ShortForm a;
  a.head_dim = sizes.model_dim / sizes.heads;
  a.rope = sizes.rope;
  ReadRopes(fields, /*may_be_partial=*/false, a);
  sizes.rope = a.rope;
  return {GteFamily::kModelType, NomicBertSpec(sizes)};
}

inline constexpr RowLayout kUpFirst = {.interleaved = true};

inline constexpr Renaming kGteNames[] = {
    {"embedding_norm.", "embeddings.LayerNorm."},    {"type_embedding.", "embeddings.token_type_embeddings."},
    {"self_attn.q_proj.", "attention.qkv_proj."},    {"self_attn.k_proj.", "attention.qkv_proj."},
    {"self_attn.v_proj.", "attention.qkv_proj."},    {"self_attn.o_proj.", "attention.o_proj."},
    {"post_attention_layernorm.", "attn_ln."},       {"mlp.gate_proj.", "mlp.up_gate_proj.", kUpFirst},
    {"mlp.up_proj.", "mlp.up_gate_proj.", kUpFirst}, {"mlp.down_proj.", "mlp.down_proj."},
    {"post_feedforward_layernorm.", "mlp_ln."}};

inline constexpr std::string_view kGteHeads[] = {"pooler.", "new.pooler.", "gte.pooler.", "lm_head.", "classifier."};

constexpr TensorNames GteTensors(std::string_view body) {
  return {.body = body,
          .head = "lm_head.decoder.",
          .embedding = "embeddings.word_embeddings.weight",
          .layers = "encoder.layer.",
          .renamings = kGteNames,
          .mark = "attn_ln.weight",
          .other_parts = kGteHeads};
}

inline constexpr TensorNames kGteTensors[] = {GteTensors(""), GteTensors("new."), GteTensors("gte.")};

inline constexpr PassedFields kGtePassedJson[] = {
    {"how the model is trained", "", "attention_probs_dropout_prob hidden_dropout_prob"},
    {"which of several ways to compute the same is taken", "", "unpad_inputs use_memory_efficient_attention"},
    {"only counts with logn_attention_scale", "", "logn_attention_clip1"},
    {"of heads for other tasks", "", "tie_word_embeddings"}};

inline constexpr ModelType kGteTypes[] = {{.name = GteFamily::kModelType, .read = ReadOne<ReadGte>},
                                          {.name = "new", .read = ReadOne<ReadGte>}};

struct GteRow {
  static constexpr FamilyRow kRow = {.name = "GTE v1.5, GTE multilingual (encoders)",
                                     .special = "as BERT, with RoPE and gated feed-forward layers",
                                     .model_types = kGteTypes,
                                     .own_names = kGteTensors,
                                     .passed_json = kGtePassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GTE_DETAIL_FAMILY_H_
