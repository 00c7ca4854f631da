// SPDX-License-Identifier: Apache-2.0
//
// BERT, RoBERTa, XLM-RoBERTa: their row of the registry.

#ifndef SKALD_FAMILIES_BERT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_BERT_DETAIL_FAMILY_H_

#include <string_view>

#include "skald/families/bert/bert.h"
#include "skald/families/bert/detail/bert.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline constexpr Renaming kBertNames[] = {{"embedding_norm.", "embeddings.LayerNorm."},
                                          {"position_embedding.", "embeddings.position_embeddings."},
                                          {"type_embedding.", "embeddings.token_type_embeddings."},
                                          {"self_attn.q_proj.", "attention.self.query."},
                                          {"self_attn.k_proj.", "attention.self.key."},
                                          {"self_attn.v_proj.", "attention.self.value."},
                                          {"self_attn.o_proj.", "attention.output.dense."},
                                          {"post_attention_layernorm.", "attention.output.LayerNorm."},
                                          {"mlp.up_proj.", "intermediate.dense."},
                                          {"mlp.down_proj.", "output.dense."},
                                          {"post_feedforward_layernorm.", "output.LayerNorm."}};

// Those of the first checkpoints, which were converted from TensorFlow.
inline constexpr Renaming kOldBertNames[] = {{"embedding_norm.weight", "embeddings.LayerNorm.gamma"},
                                             {"embedding_norm.bias", "embeddings.LayerNorm.beta"},
                                             {"position_embedding.", "embeddings.position_embeddings."},
                                             {"type_embedding.", "embeddings.token_type_embeddings."},
                                             {"self_attn.q_proj.", "attention.self.query."},
                                             {"self_attn.k_proj.", "attention.self.key."},
                                             {"self_attn.v_proj.", "attention.self.value."},
                                             {"self_attn.o_proj.", "attention.output.dense."},
                                             {"post_attention_layernorm.weight", "attention.output.LayerNorm.gamma"},
                                             {"post_attention_layernorm.bias", "attention.output.LayerNorm.beta"},
                                             {"mlp.up_proj.", "intermediate.dense."},
                                             {"mlp.down_proj.", "output.dense."},
                                             {"post_feedforward_layernorm.weight", "output.LayerNorm.gamma"},
                                             {"post_feedforward_layernorm.bias", "output.LayerNorm.beta"}};

inline constexpr Renaming kJinaBertNames[] = {{"embedding_norm.", "embeddings.LayerNorm."},
                                              {"type_embedding.", "embeddings.token_type_embeddings."},
                                              {"self_attn.q_proj.", "attention.self.query."},
                                              {"self_attn.k_proj.", "attention.self.key."},
                                              {"self_attn.v_proj.", "attention.self.value."},
                                              {"self_attn.o_proj.", "attention.output.dense."},
                                              {"post_attention_layernorm.", "attention.output.LayerNorm."},
                                              {"mlp.gate_proj.", "mlp.gated_layers."},
                                              {"mlp.up_proj.", "mlp.gated_layers."},
                                              {"mlp.down_proj.", "mlp.wo."},
                                              {"post_feedforward_layernorm.", "mlp.layernorm."}};

inline constexpr RowLayout kJinaUpFirst = {.interleaved = true};

inline constexpr Renaming kJinaCodeNames[] = {{"embedding_norm.", "embeddings.LayerNorm."},
                                              {"type_embedding.", "embeddings.token_type_embeddings."},
                                              {"self_attn.q_proj.", "attention.self.query."},
                                              {"self_attn.k_proj.", "attention.self.key."},
                                              {"self_attn.v_proj.", "attention.self.value."},
                                              {"self_attn.q_norm.", "attention.self.layer_norm_q."},
                                              {"self_attn.k_norm.", "attention.self.layer_norm_k."},
                                              {"self_attn.o_proj.", "attention.output.dense."},
                                              {"post_attention_layernorm.", "attention.output.LayerNorm."},
                                              {"second_attention_layernorm.", "layer_norm_1."},
                                              {"mlp.gate_proj.", "mlp.up_gated_layer.", kJinaUpFirst},
                                              {"mlp.up_proj.", "mlp.up_gated_layer.", kJinaUpFirst},
                                              {"mlp.down_proj.", "mlp.down_layer."},
                                              {"post_feedforward_layernorm.", "layer_norm_2."}};

// With learned positions in Jina's second reranker.
inline constexpr Renaming kJinaRotaryNames[] = {{"embedding_norm.", "emb_ln."},
                                                {"position_embedding.", "embeddings.position_embeddings."},
                                                {"type_embedding.", "embeddings.token_type_embeddings."},
                                                {"self_attn.q_proj.", "mixer.Wqkv."},
                                                {"self_attn.k_proj.", "mixer.Wqkv."},
                                                {"self_attn.v_proj.", "mixer.Wqkv."},
                                                {"self_attn.o_proj.", "mixer.out_proj."},
                                                {"post_attention_layernorm.", "norm1."},
                                                {"mlp.up_proj.", "mlp.fc1."},
                                                {"mlp.down_proj.", "mlp.fc2."},
                                                {"post_feedforward_layernorm.", "norm2."}};

inline constexpr Renaming kDistilBertNames[] = {{"embedding_norm.", "embeddings.LayerNorm."},
                                                {"position_embedding.", "embeddings.position_embeddings."},
                                                {"self_attn.q_proj.", "attention.q_lin."},
                                                {"self_attn.k_proj.", "attention.k_lin."},
                                                {"self_attn.v_proj.", "attention.v_lin."},
                                                {"self_attn.o_proj.", "attention.out_lin."},
                                                {"post_attention_layernorm.", "sa_layer_norm."},
                                                {"mlp.up_proj.", "ffn.lin1."},
                                                {"mlp.down_proj.", "ffn.lin2."},
                                                {"post_feedforward_layernorm.", "output_layer_norm."}};

inline constexpr Renaming kBertGgufNames[] = {{"position_embedding.", "position_embd."},
                                              {"type_embedding.", "token_types."},
                                              {"post_attention_layernorm.", "attn_output_norm."},
                                              {"second_attention_layernorm.", "attn_norm_2."},
                                              {"post_feedforward_layernorm.", "layer_output_norm."}};

// Heads of pre-training and of tasks.
inline constexpr std::string_view kBertHeads[] = {
    "pooler.",          "bert.pooler.",      "roberta.pooler.",  "cls.",           "lm_head.",
    "classifier.",      "qa_outputs.",       "colbert_linear.",  "sparse_linear.", "linear.",
    "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "pre_classifier."};

constexpr TensorNames BertTensors(std::string_view body, std::span<const Renaming> names, std::string_view mark) {
  return {.body = body,
          .head = "cls.predictions.decoder.",
          .embedding = "embeddings.word_embeddings.weight",
          .layers = "encoder.layer.",
          .renamings = names,
          .mark = mark,
          .other_parts = kBertHeads};
}

inline constexpr std::string_view kBertMark = "attention.output.LayerNorm.weight";
inline constexpr std::string_view kOldBertMark = "attention.output.LayerNorm.gamma";
constexpr TensorNames DistilBertTensors(std::string_view body) {
  TensorNames names = BertTensors(body, kDistilBertNames, "sa_layer_norm.weight");
  names.head = "vocab_projector.";
  names.layers = "transformer.layer.";
  return names;
}

constexpr TensorNames JinaRotaryTensors(std::string_view body) {
  TensorNames names = BertTensors(body, kJinaRotaryNames, "mixer.Wqkv.weight");
  names.layers = "encoder.layers.";
  return names;
}

inline constexpr TensorNames kBertTensors[] = {JinaRotaryTensors(""),
                                               JinaRotaryTensors("roberta."),
                                               BertTensors("", kJinaCodeNames, "mlp.up_gated_layer.weight"),
                                               BertTensors("bert.", kJinaCodeNames, "mlp.up_gated_layer.weight"),
                                               DistilBertTensors(""),
                                               DistilBertTensors("distilbert."),
                                               BertTensors("", kJinaBertNames, "mlp.gated_layers.weight"),
                                               BertTensors("bert.", kJinaBertNames, "mlp.gated_layers.weight"),
                                               BertTensors("", kBertNames, kBertMark),
                                               BertTensors("bert.", kBertNames, kBertMark),
                                               BertTensors("roberta.", kBertNames, kBertMark),
                                               BertTensors("", kOldBertNames, kOldBertMark),
                                               BertTensors("bert.", kOldBertNames, kOldBertMark)};

inline constexpr PassedFields kBertPassedJson[] = {
    {"how the model is trained", "",
     "attention_probs_dropout_prob hidden_dropout_prob gradient_checkpointing cls_dropout pooler_dropout qa_dropout "
     "seq_classif_dropout"},
    {"how learned positions began", "", "sinusoidal_pos_embds"},
    {"how adapters for tasks are trained", "", "lora_dropout_p lora_main_params_trainable load_trained_adapters"},
    {"of adapters for tasks, which are read with their tensors", "",
     "lora_adaptations lora_alpha lora_rank task_instructions"},
    {"which lengths of embeddings the model is trained for", "", "matryoshka_dimensions"},
    {"which of several ways to compute the same is taken", "", "use_reentrant"},
    {"of the head that predicts words", "", "tie_weights_"},
    {"of a layer that embeddings and pairs do not use, or that is read with it", "",
     "emb_pooler pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
     "directionality"},
    {"an encoder has no output head", "", "tie_word_embeddings"},
    {"of rerankers, which are read with their heads", "",
     "sentence_transformers sbert_ce_default_activation_function"}};

inline DescribedModel ReadXlmRoberta(const JsonFields& fields) { return ReadRoberta(fields, "xlm-roberta"); }
inline DescribedModel ReadPlainRoberta(const JsonFields& fields) { return ReadRoberta(fields, "roberta"); }
inline DescribedModel ReadCamembert(const JsonFields& fields) { return ReadRoberta(fields, "camembert"); }

inline constexpr ModelType kBertTypes[] = {{.name = BertFamily::kModelType, .read = ReadOne<ReadBert>},
                                           {.name = "xlm-roberta", .read = ReadOne<ReadXlmRoberta>},
                                           {.name = "roberta", .read = ReadOne<ReadPlainRoberta>},
                                           {.name = "distilbert", .read = ReadOne<ReadDistilBert>},
                                           {.name = "camembert", .read = ReadOne<ReadCamembert>},
                                           {.name = "jina_embeddings_v3", .read = ReadOne<ReadJinaEmbeddings>}};

constexpr GgufArchitecture BertArchitecture(std::string_view name, decltype(GgufArchitecture::read) read) {
  return {.name = name,
          .read = read,
          .is_written = true,
          .tell = TellEncoder,
          .written_names = kEncoderGgufNames,
          .as_written = EncoderAsWritten,
          .change_draft = ChangeEncoder};
}

inline constexpr GgufArchitecture kBertArchitectures[] = {
    BertArchitecture("bert", ReadOneGguf<ReadBertGguf>),
    BertArchitecture("jina-bert-v2", ReadOneGguf<ReadJinaBertGguf>),
    BertArchitecture("jina-bert-v3", ReadOneGguf<ReadJinaEmbeddingsGguf>)};

struct BertRow {
  static constexpr FamilyRow kRow = {
      .name = "BERT, DistilBERT, RoBERTa, XLM-RoBERTa, JinaBERT v2 and v3 (encoders)",
      .special = "attention both ways, learned positions (JinaBERT: ALiBi, RoPE), norms of the stream after layers",
      .model_types = kBertTypes,
      .architectures = kBertArchitectures,
      .gguf_names = kBertGgufNames,
      .own_names = kBertTensors,
      .passed_json = kBertPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_BERT_DETAIL_FAMILY_H_
