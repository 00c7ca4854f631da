// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/model_weights.h.

#ifndef SKALD_LAYERS_DETAIL_MODEL_WEIGHTS_H_
#define SKALD_LAYERS_DETAIL_MODEL_WEIGHTS_H_

#include "skald/layers/model_weights.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/text/fixed_text.h"

namespace skald {

SKALD_INLINE ModelWeights::ModelWeights(ModelSpec model, const RankShare& of_rank)
    : spec(std::move(model)), share(of_rank) {
  for (const Block& block : spec.blocks) {
    BlockWeights& weights = blocks.emplace_back();
    for (const LayerSpec& layer : block.layers) weights.layers.push_back(layer.MakeWeights());
  }
  if (!spec.tied_embeddings) head.emplace();
}

SKALD_INLINE void ListBlocks(ModelWeights& weights, ParameterList& list) {
  const ModelSpec& spec = weights.spec;
  const auto model = static_cast<size_t>(spec.model_dim);
  for (size_t b = 0; b < spec.blocks.size(); ++b) {
    const Block& block = spec.blocks[b];
    BlockWeights& of_block = weights.blocks[b];
    list.SetLayer(block.number);
    const bool multiplies_stream = block.normed_multiplier != 0.0f && block.normed_multiplier != 1.0f;
    if (block.residual_multiplier != 1.0f || multiplies_stream) list.Assume(Assumption::kNotMultiplied);
    if (block.norm) block.norm->ListParameters(of_block.norm, block.norm_name, model, list);
    for (size_t i = 0; i < block.layers.size(); ++i) {
      block.layers[i].ListParameters(*of_block.layers[i], model, list);
    }
    if (block.post_norm) block.post_norm->ListParameters(of_block.post_norm, block.post_norm_name, model, list);
    if (block.stream_norm) {
      block.stream_norm->ListParameters(of_block.stream_norm, block.stream_norm_name, model, list);
    }
    if (block.learned_scale) list.AddVector(of_block.scale, {{"layer_scalar", 1}}, {.center = 1.0f});
  }
}

// Returns the name of the final norm within the last layer; empty where it is of no layer.
inline std::string_view FinalNormInLayer(const ModelSpec& spec) {
  if (spec.blocks.empty() || spec.blocks.back().stream_norm) return {};
  return spec.blocks.back().stream_norm_name;
}

SKALD_INLINE ParameterList ParametersOf(ModelWeights& weights) {
  const ModelSpec& spec = weights.spec;
  const auto vocab = static_cast<size_t>(spec.vocab_size), model = static_cast<size_t>(spec.model_dim);
  ParameterList list;
  list.SetShare(weights.share);
  list.AddEmbedding(weights.embedding, model, {{"embed_tokens.weight", vocab}});
  if (weights.head) {
    list.AddMatrix(*weights.head, model,
                   {{.name = "lm_head.weight", .rows = vocab, .normed_columns = spec.normed_head}});
  } else {
    list.AllowCopy("lm_head.weight", "embed_tokens.weight");
  }
  if (spec.head_bias) list.AddVector(weights.head_bias, {{"lm_head.bias", vocab}});
  const std::string_view name_in_layer = FinalNormInLayer(spec);
  if (!name_in_layer.empty()) list.SetLayer(spec.blocks.back().number);
  spec.final_norm.ListParameters(weights.final_norm, name_in_layer.empty() ? "norm" : name_in_layer, model, list);
  list.SetLayer(std::nullopt);
  if (spec.embedding_norm) spec.embedding_norm->ListParameters(weights.embedding_norm, "embedding_norm", model, list);
  if (spec.per_layer_dim > 0) {
    const auto width = static_cast<size_t>(spec.per_layer_dim), all = NumLayers(spec) * width;
    const size_t tokens = spec.per_layer_vocab > 0 ? static_cast<size_t>(spec.per_layer_vocab) : vocab;
    list.AddEmbedding(weights.per_layer_embedding, all, {{"embed_tokens_per_layer.weight", tokens}});
    list.AddMatrix(weights.per_layer_projection, model, {{"per_layer_model_projection.weight", all}});
    spec.final_norm.ListParameters(weights.per_layer_norm, "per_layer_projection_norm", width, list);
  }
  if (spec.positions > 0) {
    list.AddMatrix(weights.position_embedding, model,
                   {{"position_embedding.weight", static_cast<size_t>(spec.positions)}}, DType::kF32);
  }
  if (spec.token_types > 0) {
    list.AddMatrix(weights.type_embedding, model, {{"type_embedding.weight", static_cast<size_t>(spec.token_types)}},
                   DType::kF32);
  }
  if (const DistanceBias& bias = spec.distance_bias; bias.buckets > 0) {
    list.AddArray(weights.distance_bias,
                  {{"distance_bias.weight", {static_cast<uint64_t>(bias.buckets), static_cast<uint64_t>(bias.heads)}}},
                  {.spread = 1.0f});
  }
  if (spec.embedding_multiplier != 1.0f || spec.logits_scaling != 1.0f) list.Assume(Assumption::kNotMultiplied);
  ListBlocks(weights, list);
  return list;
}

SKALD_INLINE ParameterList ParametersOf(const ModelWeights& weights) {
  return ParametersOf(const_cast<ModelWeights&>(weights));
}

}  // namespace skald

#endif  // SKALD_LAYERS_DETAIL_MODEL_WEIGHTS_H_
