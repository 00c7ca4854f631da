// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json says of BERT, RoBERTa and XLM-RoBERTa. Sources: configuration_*.py and modeling_*.py in
// src/transformers/models/{bert,roberta,xlm_roberta,jina_embeddings_v3} of https://github.com/huggingface/transformers,
// and for JinaBERT its authors' repositories at https://huggingface.co/jinaai.

#ifndef SKALD_FAMILIES_BERT_DETAIL_BERT_H_
#define SKALD_FAMILIES_BERT_DETAIL_BERT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/bert/bert.h"
#include "skald/families/config/described_model.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Only the name of the authors' program says it.
inline bool IsJinaBertForCode(const JsonFields& fields) {
  const nlohmann::json* const programs = fields.Find("auto_map");
  if (programs == nullptr || !programs->is_object()) return false;
  const auto program = programs->find("AutoModel");
  return program != programs->end() && program->is_string() &&
         program->get_ref<const std::string&>().find("qk-post-norm") != std::string::npos;
}

inline BertSizes ReadBertSizes(const JsonFields& fields) {
  BertSizes sizes = {.model_dim = fields.Size("hidden_size"),
                     .vocab_size = fields.Size("vocab_size"),
                     .layers = static_cast<int>(LayerCount(fields)),
                     .heads = fields.Size("num_attention_heads"),
                     .feed_forward_dim = fields.Size("intermediate_size"),
                     .positions = fields.Size("max_position_embeddings", 512),
                     .token_types = fields.Size("type_vocab_size", 2)};
  sizes.activation = ReadActivation(fields, sizes.activation, /*gelu_means_tanh=*/false);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_eps", 1e-12));
  const std::string positions = fields.String("position_embedding_type", "absolute");
  sizes.alibi = positions == "alibi";
  if (positions == "rotary") sizes.rope = RopeSpec{.base = fields.Positive("rotary_emb_base", 10000.0)};
  if (!sizes.alibi && !sizes.rope) fields.Expect("position_embedding_type", "absolute");
  sizes.query_norms = sizes.alibi && IsJinaBertForCode(fields);
  fields.Expect("feed_forward_type", sizes.alibi ? "geglu" : "original");
  fields.Expect("is_decoder", false);
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("num_attention_heads", sizes.heads, "a divisor of hidden_size");
    sizes.heads = 1;
  }
  return sizes;
}

// Files of the architectures "bert", of which RoBERTa's lack the rows of its padding, and "jina-bert-v2", of which
// those for code normalise queries.
inline BertSizes ReadGgufBertSizes(const JsonFields& fields, const GgufTensorFacts& facts) {
  BertSizes sizes = {.model_dim = fields.Size("embedding_length"),
                     .vocab_size = facts.vocab_size,
                     .layers = fields.Integer("block_count", 1, kMaxLayers),
                     .heads = fields.Size("attention.head_count"),
                     .feed_forward_dim = fields.Size("feed_forward_length"),
                     .positions = facts.positions,
                     .token_types = facts.token_types};
  sizes.norm.epsilon = static_cast<float>(fields.Positive("attention.layer_norm_epsilon"));
  fields.Expect("attention.causal", false);
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("attention.head_count", sizes.heads, "a divisor of embedding_length");
    sizes.heads = 1;
  }
  return sizes;
}

inline DescribedModel ReadBertGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return {BertFamily::kModelType, BertSpec(ReadGgufBertSizes(fields, facts))};
}

inline DescribedModel ReadJinaBertGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  BertSizes sizes = ReadGgufBertSizes(fields, facts);
  sizes.alibi = true;
  sizes.query_norms = facts.has_query_norm;
  return {BertFamily::kModelType, BertSpec(sizes)};
}

inline DescribedModel ReadBert(const JsonFields& fields) {
  return {BertFamily::kModelType, BertSpec(ReadBertSizes(fields))};
}

// DistilBERT (arXiv:1910.01108) has no types of tokens, and names of its own.
inline DescribedModel ReadDistilBert(const JsonFields& fields) {
  BertSizes sizes = {.model_dim = fields.Size("dim"),
                     .vocab_size = fields.Size("vocab_size"),
                     .layers = fields.Integer("n_layers", 1, kMaxLayers),
                     .heads = fields.Size("n_heads"),
                     .feed_forward_dim = fields.Size("hidden_dim"),
                     .positions = fields.Size("max_position_embeddings", 512)};
  fields.Expect("activation", "gelu");
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("n_heads", sizes.heads, "a divisor of dim");
    sizes.heads = 1;
  }
  return {"distilbert", BertSpec(sizes)};
}

// RoBERTa counts positions from the one after its padding.
inline DescribedModel ReadRoberta(const JsonFields& fields, std::string_view model_type) {
  BertSizes sizes = ReadBertSizes(fields);
  if (!sizes.rope) sizes.first_position = fields.Integer("pad_token_id", 0, sizes.positions - 2, 1) + 1;
  fields.Expect("truncate_dim", nullptr);
  return {model_type, BertSpec(sizes)};
}

// JinaBERT v3 as transformers has it; its authors' files are of the type xlm-roberta.
inline DescribedModel ReadJinaEmbeddings(const JsonFields& fields) {
  BertSizes sizes = ReadBertSizes(fields);
  sizes.token_types = fields.Integer("type_vocab_size", 1, 1 << 16, 1);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_eps", 1e-5));
  ShortForm a;
  a.head_dim = sizes.model_dim / sizes.heads;
  a.rope = {.base = 20000.0};
  ReadRopes(fields, /*may_be_partial=*/false, a);
  sizes.rope = a.rope;
  return {"jina_embeddings_v3", BertSpec(sizes)};
}

// Those of llama.cpp's "jina-bert-v3".
inline DescribedModel ReadJinaEmbeddingsGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  BertSizes sizes = ReadGgufBertSizes(fields, facts);
  const int head_dim = sizes.model_dim / sizes.heads;
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(head_dim));
  fields.Expect("rope.dimension_count", head_dim);
  return {BertFamily::kModelType, BertSpec(sizes)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_BERT_DETAIL_BERT_H_
