// SPDX-License-Identifier: Apache-2.0
//
// Per-layer inputs: what the embeddings of a token give each layer besides the residual stream, as in Gemma 4's small
// models. A second embedding of the token, and a projection of the first one, normalised, are added up.
// (https://github.com/huggingface/transformers, models/gemma4/modeling_gemma4.py)

#ifndef SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_
#define SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_

#include <cmath>
#include <cstddef>

#include "skald/layers/model_weights.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"
#include "skald/model/workspace.h"

namespace skald {

class PerLayerInputs {
 public:
  // Everything must outlive this.
  PerLayerInputs(const ModelWeights& weights, Operations& ops)
      : weights_(weights),
        ops_(ops),
        width_(static_cast<size_t>(weights.spec.per_layer_dim)),
        layers_(NumLayers(weights.spec)) {}

  // Grows the workspace's buffers to what passes of `rows` rows need.
  void Reserve(size_t rows, Activations& activations) const {
    if (width_ == 0) return;
    skald::Reserve(activations.per_layer, rows * layers_ * width_);
    skald::Reserve(activations.projected, rows * layers_ * width_);
    if (weights_.spec.per_layer_vocab > 0) activations.per_layer_tokens.reserve(rows);
    ReserveMatMul(weights_.per_layer_projection, rows, activations.matmul);
    ReserveGathers(weights_.per_layer_embedding, rows, activations.matmul.gathers);
  }

  // Computes those of all layers from the tokens and their embeddings [rows, model_dim].
  void Compute(const PassRows& rows, Rows embeddings, Activations& activations) {
    if (width_ == 0) return;
    const size_t stride = layers_ * width_, size = rows.size() * stride;
    float* const sum = activations.per_layer.data();
    const Rows all = {activations.projected.data(), stride}, each = {activations.projected.data(), width_};
    ops_.MatMul(weights_.per_layer_projection, embeddings, rows.size(), {}, all);
    ops_.Scale(all.data, size, 1.0f / std::sqrt(static_cast<float>(weights_.spec.model_dim)));
    weights_.spec.final_norm.Run(weights_.per_layer_norm, ops_, each, rows.size() * layers_, each);
    ops_.Embed(weights_.per_layer_embedding, TokensOf(rows, activations), std::sqrt(static_cast<float>(width_)),
               {sum, stride});
    ops_.Add(sum, all.data, size);
    ops_.Scale(sum, size, std::sqrt(0.5f));
  }

  // Those of layer `number`, [rows, per_layer_dim].
  Rows Of(size_t number, Activations& activations) const {
    return {activations.per_layer.data() + number * width_, layers_ * width_};
  }

 private:
  // Tokens without inputs of their own have those of the first one.
  const std::vector<int32_t>& TokensOf(const PassRows& rows, Activations& activations) const {
    const int32_t count = weights_.spec.per_layer_vocab;
    if (count == 0) return rows.tokens;
    std::vector<int32_t>& tokens = activations.per_layer_tokens;
    tokens.assign(rows.tokens.begin(), rows.tokens.end());
    for (int32_t& token : tokens) token = token < count ? token : 0;
    return tokens;
  }

  const ModelWeights& weights_;
  Operations& ops_;
  const size_t width_, layers_;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_PER_LAYER_INPUTS_H_
