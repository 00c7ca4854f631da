// SPDX-License-Identifier: Apache-2.0
//
// GPT-2: its row of the registry.

#ifndef SKALD_FAMILIES_GPT2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GPT2_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/gpt2/gpt2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules Gpt2Rules() { return {.implied = ShortFormOf<Gpt2Family>(), .gated = false}; }

// The model with an embedding of each of so many positions, and no others.
inline DescribedModel Gpt2Model(ShortForm a, int positions) {
  std::ranges::fill(a.layers, LayerKind::kNopeAttention);
  ModelSpec spec = Expand(a);
  spec.positions = positions;
  return {a.model_type, std::move(spec)};
}

inline Activation ReadGpt2Activation(const JsonFields& fields) {
  const std::string name = fields.String("activation_function", "gelu_new");
  if (name == NameOf(Activation::kGeluErf)) return Activation::kGeluErf;
  if (name != "gelu_new" && name != NameOf(Activation::kGeluTanh)) {
    fields.Unsupported("activation_function", name, R"("gelu_new", "gelu_pytorch_tanh" and "gelu")");
  }
  return Activation::kGeluTanh;
}

inline TextModel ReadGpt2(const JsonFields& fields) {
  fields.Expect("scale_attn_weights", true);
  fields.Expect("scale_attn_by_inverse_layer_idx", false);
  ShortForm a = Gpt2Rules().implied;
  a.model_dim = fields.Size("n_embd");
  a.vocab_size = fields.Size("vocab_size");
  a.layers.resize(static_cast<size_t>(fields.Integer("n_layer", 1, kMaxLayers)));
  a.feed_forward_dim = fields.Size("n_inner", 4 * a.model_dim);
  a.heads = a.kv_heads = fields.Size("n_head");
  a.head_dim = a.rotary_dim = a.model_dim / a.heads;
  a.query_pre_scale = a.head_dim;
  a.activation = ReadGpt2Activation(fields);
  SetNormEpsilon(static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-5)), a);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", true);
  TakeGates(Gpt2Rules(), a);
  return Gpt2Model(a, fields.Size("n_positions", 1024));
}

inline std::vector<DescribedModel> ReadGpt2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return {Gpt2Model(ReadGgufModel(fields, Gpt2Rules(), facts), fields.Size("context_length"))};
}

inline void TellPositions(const ModelSpec& spec, nlohmann::json& fields) { fields["context_length"] = spec.positions; }

inline constexpr RowLayout kAsColumns = {.transposed = true};

inline constexpr Renaming kGpt2Names[] = {{"position_embedding.", "wpe."},
                                          {"input_layernorm.", "ln_1."},
                                          {"feed_forward_norm.", "ln_2."},
                                          {"self_attn.q_proj.", "attn.c_attn.", kAsColumns},
                                          {"self_attn.k_proj.", "attn.c_attn.", kAsColumns},
                                          {"self_attn.v_proj.", "attn.c_attn.", kAsColumns},
                                          {"self_attn.o_proj.", "attn.c_proj.", kAsColumns},
                                          {"mlp.up_proj.", "mlp.c_fc.", kAsColumns},
                                          {"mlp.down_proj.", "mlp.c_proj.", kAsColumns}};

constexpr TensorNames Gpt2Tensors(std::string_view body) {
  return {.body = body,
          .head = "lm_head.",
          .embedding = "wte.weight",
          .final_norm = "ln_f.",
          .layers = "h.",
          .renamings = kGpt2Names};
}

// As transformers writes them, and as they were published.
inline constexpr TensorNames kGpt2Tensors[] = {Gpt2Tensors("transformer."), Gpt2Tensors("")};

inline constexpr PassedFields kGpt2PassedJson[] = {
    {"the older name of n_positions, which is read", "", "n_ctx"},
    {"which way to the same numbers is taken", "", "reorder_and_upcast_attn"},
    {"of models that sum a text up", "",
     "summary_type summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout"}};

inline constexpr ModelType kGpt2Types[] = {{.name = Gpt2Family::kModelType, .read = ReadGpt2}};

inline constexpr GgufArchitecture kGpt2Architectures[] = {{.name = "gpt2",
                                                           .read = ReadGpt2Gguf,
                                                           .is_written = true,
                                                           .tell = TellPositions,
                                                           .written_names = kJoinedGgufNames}};

struct Gpt2Row {
  static constexpr FamilyRow kRow = {.name = "GPT-2",
                                     .special = "learned positions instead of RoPE, LayerNorm, biases",
                                     .model_types = kGpt2Types,
                                     .architectures = kGpt2Architectures,
                                     .own_names = kGpt2Tensors,
                                     .passed_json = kGpt2PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GPT2_DETAIL_FAMILY_H_
