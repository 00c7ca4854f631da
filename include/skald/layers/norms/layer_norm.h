// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm, Ba, Kiros and Hinton 2016 (arXiv:1607.06450): from rows their mean is taken, and what is left is divided
// by its standard deviation.

#ifndef SKALD_LAYERS_NORMS_LAYER_NORM_H_
#define SKALD_LAYERS_NORMS_LAYER_NORM_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LayerNorm {
  static constexpr std::string_view kName = "LayerNorm";

  float epsilon = 1e-5f;  ///< added to the variance
  bool weight = true;     ///< without it and the bias there are no parameters, as in OLMo (arXiv:2402.00838)
  bool bias = true;       ///< added at the end

  friend constexpr bool operator==(const LayerNorm&, const LayerNorm&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("epsilon", self.epsilon);
    visit("weight", self.weight);
    visit("bias", self.bias);
  }

  constexpr const char* WhyImpossible() const {
    if (bias && !weight) return "A LayerNorm with a bias must have a weight.";
    return epsilon > 0.0f ? nullptr : "The epsilon of a LayerNorm must be positive: it keeps it from dividing by zero.";
  }

  struct Weights {
    std::vector<float> weight, bias;  ///< [size]; empty when there is none
  };

  void ListParameters(Weights& weights, std::string_view name, size_t size, ParameterList& list) const;

  void Run(const Weights& weights, const NormRun& run) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/norms/detail/layer_norm.h"
#endif

#endif  // SKALD_LAYERS_NORMS_LAYER_NORM_H_
