// SPDX-License-Identifier: Apache-2.0
//
// The encoder of T5: its row of the registry.

#ifndef SKALD_FAMILIES_T5_ENCODER_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_T5_ENCODER_DETAIL_FAMILY_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/t5_encoder/t5_encoder.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline DescribedModel ReadT5Encoder(const JsonFields& fields) {
  T5EncoderSizes sizes = {.model_dim = fields.Size("d_model"),
                          .vocab_size = fields.Size("vocab_size"),
                          .layers = fields.Integer("num_layers", 1, kMaxLayers),
                          .heads = fields.Size("num_heads"),
                          .head_dim = fields.Size("d_kv"),
                          .feed_forward_dim = fields.Size("d_ff"),
                          .buckets = fields.Size("relative_attention_num_buckets", 32),
                          .max_distance = fields.Size("relative_attention_max_distance", 128)};
  sizes.norm_epsilon = static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-6));
  const std::string layers = fields.String("feed_forward_proj", "relu");
  if (layers == "gated-silu") sizes.activation = Activation::kSilu;
  if (layers == "relu") sizes.activation = Activation::kRelu, sizes.gated = false;
  if (layers != "gated-gelu" && layers != "gated-silu" && layers != "relu") {
    fields.Unsupported("feed_forward_proj", layers, R"("relu", "gated-gelu" and "gated-silu")");
  }
  (void)fields.Flag("is_encoder_decoder", false);  // of the two, the encoder alone is read
  return {T5EncoderFamily::kModelType, T5EncoderSpec(sizes)};
}

// llama.cpp takes 128 for the largest distance, and GELU for gates.
inline DescribedModel ReadT5EncoderGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  T5EncoderSizes sizes = {.model_dim = fields.Size("embedding_length"),
                          .vocab_size = facts.vocab_size,
                          .layers = fields.Integer("block_count", 1, kMaxLayers),
                          .heads = fields.Size("attention.head_count"),
                          .head_dim = fields.Size("attention.key_length"),
                          .feed_forward_dim = fields.Size("feed_forward_length"),
                          .buckets = fields.Size("attention.relative_buckets_count")};
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  fields.Expect("attention.value_length", sizes.head_dim);
  sizes.gated = facts.has_feed_forward_gate;
  if (!sizes.gated) sizes.activation = Activation::kRelu;
  return {T5EncoderFamily::kModelType, T5EncoderSpec(sizes)};
}

inline void TellT5Encoder(const ModelSpec& spec, nlohmann::json& fields) {
  for (const char* const name : {"attention.head_count_kv", "attention.causal"}) fields.erase(name);
  fields["attention.relative_buckets_count"] = spec.distance_bias.buckets;
}

inline constexpr Renaming kT5EncoderNames[] = {
    {"distance_bias.", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias."},
    {"input_layernorm.", "layer.0.layer_norm."},
    {"self_attn.q_proj.", "layer.0.SelfAttention.q."},
    {"self_attn.k_proj.", "layer.0.SelfAttention.k."},
    {"self_attn.v_proj.", "layer.0.SelfAttention.v."},
    {"self_attn.o_proj.", "layer.0.SelfAttention.o."},
    {"feed_forward_norm.", "layer.1.layer_norm."},
    {"mlp.gate_proj.", "layer.1.DenseReluDense.wi_0."},
    {"mlp.up_proj.", "layer.1.DenseReluDense.wi_1."},
    {"mlp.up_proj.", "layer.1.DenseReluDense.wi."},
    {"mlp.down_proj.", "layer.1.DenseReluDense.wo."}};

inline constexpr Renaming kT5EncoderGgufNames[] = {{"distance_bias.", "enc.blk.0.attn_rel_b."},
                                                   {"input_layernorm.", "attn_norm."},
                                                   {"self_attn.q_proj.", "attn_q."},
                                                   {"self_attn.k_proj.", "attn_k."},
                                                   {"self_attn.v_proj.", "attn_v."},
                                                   {"self_attn.o_proj.", "attn_o."},
                                                   {"feed_forward_norm.", "ffn_norm."},
                                                   {"mlp.gate_proj.", "ffn_gate."},
                                                   {"mlp.up_proj.", "ffn_up."},
                                                   {"mlp.down_proj.", "ffn_down."}};

inline constexpr std::string_view kT5EncoderOthers[] = {"decoder.", "lm_head.", "encoder.embed_tokens."};

inline constexpr std::string_view kT5EncoderGgufOthers[] = {"dense_2.", "dense_3."};

inline constexpr TensorNames kT5EncoderTensors[] = {{.body = "",
                                                     .head = "lm_head.",
                                                     .embedding = "shared.weight",
                                                     .final_norm = "encoder.final_layer_norm.",
                                                     .layers = "encoder.block.",
                                                     .renamings = kT5EncoderNames,
                                                     .mark = "layer.0.SelfAttention.q.weight",
                                                     .other_parts = kT5EncoderOthers},
                                                    {.body = "",
                                                     .head = "output.",
                                                     .embedding = "token_embd.weight",
                                                     .final_norm = "enc.output_norm.",
                                                     .layers = "enc.blk.",
                                                     .renamings = kT5EncoderGgufNames,
                                                     .stores_converted = true,
                                                     .mark = "attn_o.weight",
                                                     .other_parts = kT5EncoderGgufOthers}};

inline constexpr PassedFields kT5EncoderPassedJson[] = {
    {"how the model is trained", "", "dropout_rate"},
    {"of the decoder, which is not read, and of its head", "",
     "num_decoder_layers tie_word_embeddings scale_decoder_outputs n_positions"},
    {"what feed_forward_proj says", "", "dense_act_fn is_gated_act"}};

inline constexpr ModelType kT5EncoderTypes[] = {{.name = T5EncoderFamily::kModelType, .read = ReadOne<ReadT5Encoder>}};

inline constexpr GgufArchitecture kT5EncoderArchitectures[] = {
    {.name = "t5encoder", .read = ReadOneGguf<ReadT5EncoderGguf>, .is_written = true, .tell = TellT5Encoder}};

struct T5EncoderRow {
  static constexpr FamilyRow kRow = {.name = "T5 (its encoder)",
                                     .special = "a learned bias of distances, RMSNorm, GeGLU or ReLU",
                                     .model_types = kT5EncoderTypes,
                                     .architectures = kT5EncoderArchitectures,
                                     .own_names = kT5EncoderTensors,
                                     .passed_json = kT5EncoderPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_T5_ENCODER_DETAIL_FAMILY_H_
