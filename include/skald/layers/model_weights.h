// SPDX-License-Identifier: Apache-2.0
//
// All parameters of one model, in the form in which kernels read them. Immutable after loading, safe for concurrent
// reads. Matrices are [outputs, inputs].

#ifndef SKALD_LAYERS_MODEL_WEIGHTS_H_
#define SKALD_LAYERS_MODEL_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// The parameters of one block.
struct BlockWeights {
  NormWeights norm;                                   ///< empty without one
  std::vector<std::unique_ptr<LayerWeights>> layers;  ///< as Block::layers
  NormWeights post_norm;                              ///< empty without one
  std::vector<float> scale;                           ///< [1], or empty
  NormWeights stream_norm;                            ///< empty without one

  /// The parameters of layer `index`, which is of type L.
  template <Layer L>
  const typename L::Weights& Of(size_t index = 0) const {
    return static_cast<const internal::WeightsOf<L>&>(*layers[index]).weights;
  }
};

/// Move-only.
struct ModelWeights {
  /// Room for the parameters of `model`, none of which is there yet, or for one rank's part of them.
  explicit ModelWeights(ModelSpec model, const RankShare& of_rank = {});

  ModelSpec spec;                ///< of the whole model
  RankShare share;               ///< the rank whose part this is
  DType dtype = DType::kBF16;    ///< of every matrix but those that the file holds quantised
  Matrix embedding;              ///< [vocab_size, model_dim]
  std::optional<Matrix> head;    ///< [vocab_size, model_dim]; absent when the embedding is the output head
  std::vector<float> head_bias;  ///< [vocab_size]; empty when there is none
  NormWeights final_norm;        ///< before the head
  NormWeights embedding_norm;    ///< empty without one
  /// Of models with per-layer inputs; else empty.
  Matrix per_layer_embedding;   ///< [per_layer_vocab or vocab_size, layers * per_layer_dim]
  Matrix per_layer_projection;  ///< [layers * per_layer_dim, model_dim]
  NormWeights per_layer_norm;   ///< [per_layer_dim]
  /// Of models whose tokens have them; else empty.
  Matrix position_embedding;         ///< [positions, model_dim], f32
  Matrix type_embedding;             ///< [token_types, model_dim], f32
  std::vector<float> distance_bias;  ///< [buckets, heads]
  std::vector<BlockWeights> blocks;  ///< as ModelSpec::blocks
};

/// Adds the parameters of all blocks to a list.
void ListBlocks(ModelWeights& weights, ParameterList& list);

/// Returns all parameters of `weights`, whole, in a fixed order, on which random values and packed files depend.
ParameterList ParametersOf(ModelWeights& weights);

/// The same for callers that only read the weights of the list.
ParameterList ParametersOf(const ModelWeights& weights);

/// Returns the bytes of all parameters, padding included.
inline size_t MemoryBytes(const ModelWeights& weights) { return MemoryBytes(ParametersOf(weights)); }

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/detail/model_weights.h"
#endif

#endif  // SKALD_LAYERS_MODEL_WEIGHTS_H_
