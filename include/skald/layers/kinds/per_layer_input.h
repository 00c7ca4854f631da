// SPDX-License-Identifier: Apache-2.0
//
// What embeddings give a layer besides (model/per_layer_inputs.h), let through by a gate of the residual stream, as
// Gemma 4's small models have it: projection(activation(gate(x)) * input).

#ifndef SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_
#define SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"

namespace skald {

struct PerLayerInput {
  static constexpr std::string_view kName = "per-layer input";

  int width = 0;
  Activation activation = Activation::kGeluTanh;

  friend constexpr bool operator==(const PerLayerInput&, const PerLayerInput&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
  }

  constexpr const char* WhyImpossible() const {
    if (activation == Activation::kClampedSwiglu) return "A per-layer input has no gate to clamp.";
    return width > 0 ? nullptr : "A per-layer input must have a positive width.";
  }

  constexpr int PerLayerDim() const { return width; }

  struct Weights {
    Matrix gate;        // [width, model_dim]
    Matrix projection;  // [model_dim, width]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto size = static_cast<size_t>(width);
    list.AddMatrix(weights.gate, model_dim, {{"per_layer_input_gate.weight", size}});
    list.AddMatrix(weights.projection, size, {{"per_layer_projection.weight", model_dim}});
  }

  // What the gate lets through.
  std::array<size_t, 1> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * static_cast<size_t>(width)};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), size = static_cast<size_t>(width);
    const Rows gated = {run.scratch[0], size};
    run.ops.MatMul(weights.gate, run.input, rows, {}, gated);
    run.ops.Activate(activation, gated.data, rows * size);
    run.ops.Multiply(gated, run.per_layer, rows, size);
    run.ops.MatMul(weights.projection, gated, rows, {}, run.output);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_
