// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/per_layer_inputs.h.

#ifndef SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_
#define SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_

#include "skald/model/per_layer_inputs.h"

#include <cmath>

#include "skald/base/aligned_buffer.h"
#include "skald/base/inline.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/run/multiplications.h"
#include "skald/layers/run/rank_gathers.h"
#include "skald/layers/run/scratch.h"
#include "skald/layers/spec/norm.h"

namespace skald {

SKALD_INLINE PerLayerInputs::PerLayerInputs(const ModelWeights& weights, Operations& ops)
    : weights_(weights),
      ops_(ops),
      width_(static_cast<size_t>(weights.spec.per_layer_dim)),
      layers_(NumLayers(weights.spec)) {}

SKALD_INLINE void PerLayerInputs::Reserve(size_t rows, Activations& activations) const {
  if (width_ == 0) return;
  skald::Reserve(activations.per_layer, rows * layers_ * width_);
  skald::Reserve(activations.projected, rows * layers_ * width_);
  ReserveMatMul(weights_.per_layer_projection, rows, activations.matmul);
  ReserveGathers(weights_.per_layer_embedding, rows, activations.matmul.gathers);
}

SKALD_INLINE void PerLayerInputs::Compute(const PassRows& rows, Rows embeddings, Activations& activations) {
  if (width_ == 0) return;
  const size_t stride = layers_ * width_, size = rows.size() * stride;
  float* const sum = activations.per_layer.data();
  const Rows all = {activations.projected.data(), stride}, each = {activations.projected.data(), width_};
  ops_.MatMul(weights_.per_layer_projection, embeddings, rows.size(), {}, all);
  ops_.Scale(all.data, size, 1.0f / std::sqrt(static_cast<float>(weights_.spec.model_dim)));
  weights_.spec.final_norm.Run(weights_.per_layer_norm, ops_, each, rows.size() * layers_, each);
  ops_.Embed(weights_.per_layer_embedding, rows.tokens, std::sqrt(static_cast<float>(width_)), {sum, stride});
  ops_.Add(sum, all.data, size);
  ops_.Scale(sum, size, std::sqrt(0.5f));
}

SKALD_INLINE Rows PerLayerInputs::Of(size_t number, Activations& activations) const {
  return {activations.per_layer.data() + number * width_, layers_ * width_};
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_
