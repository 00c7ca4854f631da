// SPDX-License-Identifier: Apache-2.0
//
// The additional input of a layer from embeddings (model/per_layer_inputs.h), gated by the residual stream, as in Gemma
// 4's small models: projection(activation(gate(x)) * input).

#ifndef SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_
#define SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct PerLayerInput {
  static constexpr std::string_view kName = "per-layer input";

  int width = 0;                                  ///< ModelSpec::per_layer_dim
  Activation activation = Activation::kGeluTanh;  ///< of the gate

  friend constexpr bool operator==(const PerLayerInput&, const PerLayerInput&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
  }

  constexpr const char* WhyImpossible() const {
    if (activation == Activation::kClampedSwiglu) return "A per-layer input has no gate to clamp.";
    if (activation == Activation::kXielu) return kXieluElsewhere;
    return width > 0 ? nullptr : "A per-layer input must have a positive width.";
  }

  constexpr int PerLayerDim() const { return width; }

  struct Weights {
    Matrix gate;        ///< [width, model_dim]
    Matrix projection;  ///< [model_dim, width]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    T gated;  ///< what the gate lets through, [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/per_layer_input.h"
#endif

#endif  // SKALD_LAYERS_KINDS_PER_LAYER_INPUT_H_
