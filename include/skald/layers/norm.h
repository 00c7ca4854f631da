// SPDX-License-Identifier: Apache-2.0
//
// Norm: how rows are normalised, and its parameters.

#ifndef SKALD_LAYERS_NORM_H_
#define SKALD_LAYERS_NORM_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/layers/operations.h"
#include "skald/weights/parameters.h"

namespace skald {

// RMSNorm, Zhang and Sennrich 2019 (arXiv:1910.07467). A plain value.
struct Norm {
  float epsilon = 1e-5f;
  bool unit_offset = false;  // multiplies by one plus the parameter, as Gemma does

  friend constexpr bool operator==(const Norm&, const Norm&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("epsilon", self.epsilon);
    visit("unit_offset", self.unit_offset);
  }

  constexpr const char* WhyImpossible() const {
    return epsilon > 0.0f ? nullptr : "kNormEpsilon must be positive: it keeps a norm from dividing by zero.";
  }
};

// What a norm multiplies by, [size]: with unit_offset that is one plus the parameter, so that kernels know one form.
using NormWeights = std::vector<float>;

// Lists the parameters of a norm over `size` elements, whose names begin with `name`.
inline void ListNorm(const Norm& norm, std::string_view name, size_t size, NormWeights& weights, ParameterList& list) {
  list.AddNorm(weights, name, size, norm.unit_offset);
}

// output = norm of each row of input; `output` may be `input`.
inline void RunNorm(const Norm& norm, const NormWeights& weights, Operations& ops, Rows input, size_t rows,
                    Rows output) {
  ops.Norm(input, rows, weights, norm.epsilon, output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_NORM_H_
