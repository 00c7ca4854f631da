// SPDX-License-Identifier: Apache-2.0
//
// All parameters of one model, in the form in which kernels read them. Immutable after loading, safe for concurrent
// reads. Matrices are [outputs, inputs].

#ifndef SKALD_LAYERS_MODEL_WEIGHTS_H_
#define SKALD_LAYERS_MODEL_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct BlockWeights {
  NormWeights norm;  // empty without one
  std::vector<std::unique_ptr<LayerWeights>> layers;
  NormWeights post_norm;     // empty without one
  std::vector<float> scale;  // [1], or empty

  // The parameters of layer `index`, which is of type L.
  template <Layer L>
  const typename L::Weights& Of(size_t index = 0) const {
    return static_cast<const internal::WeightsOf<L>&>(*layers[index]).weights;
  }
};

// Move-only.
struct ModelWeights {
  // Room for the parameters of `model`, none of which is there yet, or for one rank's part of them.
  explicit ModelWeights(ModelSpec model, const RankShare& of_rank = {}) : spec(std::move(model)), share(of_rank) {
    for (const Block& block : spec.blocks) {
      BlockWeights& weights = blocks.emplace_back();
      for (const LayerSpec& layer : block.layers) weights.layers.push_back(layer.MakeWeights());
    }
    if (!spec.tied_embeddings) head.emplace();
  }

  ModelSpec spec;  // of the whole model
  RankShare share;
  DType dtype = DType::kBF16;  // of every matrix but those that the file holds quantised
  Matrix embedding;            // [vocab_size, model_dim]
  std::optional<Matrix> head;  // [vocab_size, model_dim]; absent when the embedding is the output head
  NormWeights final_norm;
  NormWeights embedding_norm;  // empty without one
  // Of models with per-layer inputs; else empty.
  Matrix per_layer_embedding;   // [vocab_size, layers * per_layer_dim]
  Matrix per_layer_projection;  // [layers * per_layer_dim, model_dim]
  NormWeights per_layer_norm;   // [per_layer_dim]
  std::vector<BlockWeights> blocks;
};

// Returns all parameters of `weights`, whole, in a fixed order, on which random values and packed files depend.
inline ParameterList ParametersOf(ModelWeights& weights) {
  const ModelSpec& spec = weights.spec;
  const auto vocab = static_cast<size_t>(spec.vocab_size), model = static_cast<size_t>(spec.model_dim);
  ParameterList list;
  list.SetShare(weights.share);
  list.AddMatrix(weights.embedding, model, {{"embed_tokens.weight", vocab}});
  if (weights.head) {
    list.AddMatrix(*weights.head, model, {{"lm_head.weight", vocab}});
  } else {
    list.AllowCopy("lm_head.weight", "embed_tokens.weight");
  }
  spec.final_norm.ListParameters(weights.final_norm, "norm", model, list);
  if (spec.embedding_norm) spec.embedding_norm->ListParameters(weights.embedding_norm, "embedding_norm", model, list);
  if (spec.per_layer_dim > 0) {
    const auto width = static_cast<size_t>(spec.per_layer_dim), all = NumLayers(spec) * width;
    list.AddMatrix(weights.per_layer_embedding, all, {{"embed_tokens_per_layer.weight", vocab}});
    list.AddMatrix(weights.per_layer_projection, model, {{"per_layer_model_projection.weight", all}});
    spec.final_norm.ListParameters(weights.per_layer_norm, "per_layer_projection_norm", width, list);
  }
  if (spec.embedding_multiplier != 1.0f || spec.logits_scaling != 1.0f) list.Assume(Assumption::kNotMultiplied);
  for (size_t b = 0; b < spec.blocks.size(); ++b) {
    const Block& block = spec.blocks[b];
    BlockWeights& of_block = weights.blocks[b];
    list.SetLayer(block.number);
    if (block.residual_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
    if (block.norm) block.norm->ListParameters(of_block.norm, block.norm_name, model, list);
    for (size_t i = 0; i < block.layers.size(); ++i) {
      block.layers[i].ListParameters(*of_block.layers[i], model, list);
    }
    if (block.post_norm) block.post_norm->ListParameters(of_block.post_norm, block.post_norm_name, model, list);
    if (block.learned_scale) list.AddVector(of_block.scale, {{"layer_scalar", 1}}, {.center = 1.0f});
  }
  return list;
}

// The same for whoever only reads what the list refers to.
inline ParameterList ParametersOf(const ModelWeights& weights) {
  return ParametersOf(const_cast<ModelWeights&>(weights));
}

// Returns the bytes of all parameters, padding included.
inline size_t MemoryBytes(const ModelWeights& weights) { return MemoryBytes(ParametersOf(weights)); }

}  // namespace skald

#endif  // SKALD_LAYERS_MODEL_WEIGHTS_H_
