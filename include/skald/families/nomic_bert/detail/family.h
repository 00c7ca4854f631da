// SPDX-License-Identifier: Apache-2.0
//
// Nomic Embed: its row of the registry.

#ifndef SKALD_FAMILIES_NOMIC_BERT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_NOMIC_BERT_DETAIL_FAMILY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "skald/families/bert/detail/bert.h"
#include "skald/families/nomic_bert/nomic_bert.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

// Of nomic-embed-text-v2-moe, whose projections have biases and whose feed-forward layers have no gates.
inline void ReadNomicExperts(const JsonFields& fields, NomicBertSizes& sizes) {
  sizes.activation = Activation::kGeluErf;
  sizes.biases = sizes.experts_bias = true;
  sizes.experts = fields.Size("num_experts");
  sizes.chosen = fields.Integer("moe_top_k", 1, sizes.experts);
  if (sizes.experts_every == 1) fields.WrongValue("moe_every_n_layers", 1, "2 or more");
  fields.Expect("moe_normalize_expert_weights", false);
  fields.Expect("num_shared_experts", 0);
  fields.Expect("expert_choice_router", false);
  fields.Expect("ffn_div", 1);
}

// As the authors wrote config.json, with the names of GPT-2. Source: configuration_hf_nomic_bert.py of
// https://huggingface.co/nomic-ai/nomic-bert-2048.
inline NomicBertSizes ReadFirstNomicBert(const JsonFields& fields) {
  NomicBertSizes sizes = {.model_dim = fields.Size("n_embd"),
                          .vocab_size = fields.Size("vocab_size"),
                          .layers = fields.Integer("n_layer", 1, kMaxLayers),
                          .heads = fields.Size("n_head"),
                          .feed_forward_dim = fields.Size("n_inner"),
                          .token_types = fields.Integer("type_vocab_size", 0, 1 << 16, 2)};
  sizes.rope.base = fields.Positive("rotary_emb_base", 10000.0);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-5));
  sizes.experts_every = fields.Integer("moe_every_n_layers", 0, kMaxLayers, 0);
  sizes.gated = sizes.experts_every == 0;
  fields.Expect("activation_function", sizes.gated ? "swiglu" : "gelu");
  if (!sizes.gated) ReadNomicExperts(fields, sizes);
  fields.Expect("rotary_emb_fraction", 1.0);
  fields.Expect("rotary_emb_interleaved", false);
  fields.Expect("rotary_scaling_factor", nullptr);
  fields.Expect("rotary_emb_scale_base", nullptr);
  for (const char* const name : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"}) fields.Expect(name, sizes.biases);
  for (const char* const name :
       {"prenorm", "causal", "use_rms_norm", "parallel_block", "shared_prenorm", "scale_attn_by_inverse_layer_idx"}) {
    fields.Expect(name, false);
  }
  fields.Expect("scale_attn_weights", true);
  return sizes;
}

inline NomicBertSizes ReadNomicBertSizes(const JsonFields& fields) {
  if (!fields.Contains("hidden_size")) return ReadFirstNomicBert(fields);
  NomicBertSizes sizes = {.model_dim = fields.Size("hidden_size"),
                          .vocab_size = fields.Size("vocab_size"),
                          .layers = static_cast<int>(LayerCount(fields)),
                          .heads = fields.Size("num_attention_heads"),
                          .feed_forward_dim = fields.Size("intermediate_size"),
                          .token_types = fields.Integer("type_vocab_size", 0, 1 << 16, 2)};
  sizes.activation = ReadActivation(fields, sizes.activation, /*gelu_means_tanh=*/false);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_eps", 1e-12));
  ShortForm a;
  a.head_dim = sizes.model_dim / sizes.heads;
  a.rope = sizes.rope;
  ReadRopes(fields, /*may_be_partial=*/false, a);
  sizes.rope = a.rope;
  fields.Expect("head_dim", a.head_dim);
  return sizes;
}

inline DescribedModel ReadNomicBert(const JsonFields& fields) {
  NomicBertSizes sizes = ReadNomicBertSizes(fields);
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("num_attention_heads", sizes.heads, "a divisor of the model's width");
    sizes.heads = 1;
  }
  return {NomicBertFamily::kModelType, NomicBertSpec(sizes)};
}

inline NomicBertSizes ReadGgufNomicBertSizes(const JsonFields& fields, const GgufTensorFacts& facts) {
  const BertSizes same = ReadGgufBertSizes(fields, facts);
  NomicBertSizes sizes = {.model_dim = same.model_dim,
                          .vocab_size = same.vocab_size,
                          .layers = same.layers,
                          .heads = same.heads,
                          .feed_forward_dim = same.feed_forward_dim,
                          .token_types = same.token_types,
                          .norm = same.norm};
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.model_dim / sizes.heads));
  fields.Expect("rope.dimension_count", sizes.model_dim / sizes.heads);
  return sizes;
}

inline DescribedModel ReadNomicBertGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const NomicBertSizes sizes = ReadGgufNomicBertSizes(fields, facts);
  fields.Expect("moe_every_n_layers", 0);
  return {NomicBertFamily::kModelType, NomicBertSpec(sizes)};
}

// These files lack the bias of what experts give together.
inline DescribedModel ReadNomicBertMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  NomicBertSizes sizes = ReadGgufNomicBertSizes(fields, facts);
  sizes.gated = false, sizes.biases = true, sizes.activation = Activation::kGeluErf;
  sizes.experts_every = fields.Integer("moe_every_n_layers", 2, kMaxLayers);
  sizes.experts = fields.Size("expert_count");
  sizes.chosen = fields.Integer("expert_used_count", 1, sizes.experts);
  return {NomicBertFamily::kModelType, NomicBertSpec(sizes)};
}

// Every so many layers one has experts, from the second on; files do not say how wide these are.
inline void TellNomicExperts(const ModelSpec& spec, nlohmann::json& fields) {
  TellEncoder(spec, fields);
  const ExpertLayers layers(spec);
  const uint32_t all = static_cast<uint32_t>(NumLayers(spec));
  fields["moe_every_n_layers"] = layers.numbers.size() < 2 ? std::max(all, 2u) : layers.step();
  fields.erase("expert_feed_forward_length");
}

inline ModelSpec WithoutExpertsBias(ModelSpec spec) {
  ChangeLayers<MixtureOfExperts>(spec, [](MixtureOfExperts& experts) { experts.sum_bias = false; });
  return spec;
}

// llama.cpp's converter leaves that bias out too.
inline void ChangeNomicExperts(const ModelSpec& spec, GgufDraft& draft) {
  ChangeEncoder(spec, draft);
  const size_t before = draft.tensors.size();
  std::erase_if(draft.tensors, [](const DraftTensor& tensor) { return tensor.name.ends_with(".mlp.experts.bias"); });
  if (draft.tensors.size() == before) return;
  draft.left_out.emplace_back(
      "the bias of what experts give together: llama.cpp has no place for it, so the file's embeddings are others");
}

inline constexpr Renaming kNomicBertNames[] = {
    {"embedding_norm.", "emb_ln."},
    {"type_embedding.", "embeddings.token_type_embeddings."},
    {"self_attn.q_proj.", "attn.Wqkv."},
    {"self_attn.k_proj.", "attn.Wqkv."},
    {"self_attn.v_proj.", "attn.Wqkv."},
    {"self_attn.o_proj.", "attn.out_proj."},
    {"post_attention_layernorm.", "norm1."},
    {"mlp.gate_proj.", "mlp.fc12."},
    {"mlp.up_proj.", "mlp.fc11."},
    {"mlp.up_proj.", "mlp.fc1."},
    {"mlp.gate.", "mlp.router.layer."},
    {"mlp.experts.up_proj.weight", "mlp.experts.mlp.w1", {.joined = true}},
    {"mlp.experts.down_proj.weight", "mlp.experts.mlp.w2", {.transposed = true, .joined = true}},
    {"mlp.down_proj.", "mlp.fc2."},
    {"post_feedforward_layernorm.", "norm2."}};

inline constexpr std::string_view kNomicBertHeads[] = {"pooler.", "cls.", "classifier."};

inline constexpr TensorNames kNomicBertTensors[] = {{.body = "",
                                                     .head = "cls.predictions.decoder.",
                                                     .embedding = "embeddings.word_embeddings.weight",
                                                     .layers = "encoder.layers.",
                                                     .renamings = kNomicBertNames,
                                                     .mark = "attn.Wqkv.weight",
                                                     .other_parts = kNomicBertHeads}};

inline constexpr PassedFields kNomicBertPassedJson[] = {
    {"how the model is trained", "",
     "attention_probs_dropout_prob hidden_dropout_prob summary_first_dropout moe_resid_pdrop "
     "router_aux_loss_coef"},
    {"which of several ways to compute the same is taken", "",
     "add_pooling_layer moe_impl parallel_block_tied_norm dense_seq_output fused_bias_fc fused_dropout_add_ln "
     "last_layer_subset pad_vocab_size_multiple use_xentropy "
     "reorder_and_upcast_attn"},
    {"how long a text may be", "", "n_positions max_trained_positions"},
    {"of heads for other tasks", "",
     "summary_activation summary_proj_to_labels summary_type summary_use_proj tie_word_embeddings"}};

inline constexpr ModelType kNomicBertTypes[] = {{.name = NomicBertFamily::kModelType, .read = ReadOne<ReadNomicBert>}};

inline constexpr GgufArchitecture kNomicBertArchitectures[] = {{.name = "nomic-bert",
                                                                .read = ReadOneGguf<ReadNomicBertGguf>,
                                                                .is_written = true,
                                                                .tell = TellEncoder,
                                                                .written_names = kEncoderGgufNames,
                                                                .change_draft = ChangeEncoder},
                                                               {.name = "nomic-bert-moe",
                                                                .read = ReadOneGguf<ReadNomicBertMoeGguf>,
                                                                .is_written = true,
                                                                .tell = TellNomicExperts,
                                                                .written_names = kEncoderGgufNames,
                                                                .as_written = WithoutExpertsBias,
                                                                .change_draft = ChangeNomicExperts}};

struct NomicBertRow {
  static constexpr FamilyRow kRow = {.name = "Nomic Embed (encoder)",
                                     .special = "as BERT, with RoPE and gated feed-forward layers, or experts",
                                     .model_types = kNomicBertTypes,
                                     .architectures = kNomicBertArchitectures,
                                     .own_names = kNomicBertTensors,
                                     .passed_json = kNomicBertPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_NOMIC_BERT_DETAIL_FAMILY_H_
