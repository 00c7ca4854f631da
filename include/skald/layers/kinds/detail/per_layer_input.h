// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/per_layer_input.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_PER_LAYER_INPUT_H_
#define SKALD_LAYERS_KINDS_DETAIL_PER_LAYER_INPUT_H_

#include "skald/layers/kinds/per_layer_input.h"

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void PerLayerInput::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto size = static_cast<size_t>(width);
  list.AddMatrix(weights.gate, model_dim, {{"per_layer_input_gate.weight", size}});
  list.AddMatrix(weights.projection, size, {{"per_layer_projection.weight", model_dim}});
}

SKALD_INLINE auto PerLayerInput::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  return {.gated = rows * static_cast<size_t>(width)};
}

SKALD_INLINE std::vector<LayerPlace> PerLayerInput::Places() const {
  return {{"gates", static_cast<size_t>(width)}, {"activations", static_cast<size_t>(width)}};
}

SKALD_INLINE void PerLayerInput::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), size = static_cast<size_t>(width);
  const Rows gated = {run.scratch.As<Pieces>().gated, size};
  run.ops.MatMul(weights.gate, run.input, rows, {}, gated);
  run.Watch("gates", gated);
  run.ops.Activate(activation, gated.data, rows * size);
  run.ops.Multiply(gated, run.per_layer, rows, size);
  run.Watch("activations", gated);
  run.ops.MatMul(weights.projection, gated, rows, {}, run.output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_PER_LAYER_INPUT_H_
