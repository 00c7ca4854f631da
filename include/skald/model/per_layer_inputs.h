// SPDX-License-Identifier: Apache-2.0
//
// Per-layer inputs: what the embeddings of a token give each layer besides the residual stream, as in Gemma 4's small
// models. A second embedding of the token, and a projection of the first one, normalised, are added up.
// (https://github.com/huggingface/transformers, models/gemma4/modeling_gemma4.py)

#ifndef SKALD_MODEL_PER_LAYER_INPUTS_H_
#define SKALD_MODEL_PER_LAYER_INPUTS_H_

#include <cstddef>

#include "skald/layers/model_weights.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/rows.h"
#include "skald/model/workspace.h"

namespace skald {

class PerLayerInputs {
 public:
  // Everything must outlive this.
  PerLayerInputs(const ModelWeights& weights, Operations& ops);

  // Grows the workspace's buffers to what passes of `rows` rows need.
  void Reserve(size_t rows, Activations& activations) const;

  // Computes those of all layers from the tokens and their embeddings [rows, model_dim].
  void Compute(const PassRows& rows, Rows embeddings, Activations& activations);

  // Those of layer `number`, [rows, per_layer_dim].
  Rows Of(size_t number, Activations& activations) const;

 private:
  const ModelWeights& weights_;
  Operations& ops_;
  const size_t width_, layers_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/per_layer_inputs.h"
#endif

#endif  // SKALD_MODEL_PER_LAYER_INPUTS_H_
