// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm, Zhang and Sennrich 2019 (arXiv:1910.07467): rows are divided by the root of the mean of their squares.

#ifndef SKALD_LAYERS_NORMS_RMS_NORM_H_
#define SKALD_LAYERS_NORMS_RMS_NORM_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"

namespace skald {

struct RmsNorm {
  static constexpr std::string_view kName = "RMSNorm";

  float epsilon = 1e-5f;     ///< added to the mean of the squares
  bool unit_offset = false;  ///< multiplies by one plus the parameter, as Gemma does
  bool weight = true;        ///< whether the result is multiplied by a parameter
  float offset = 1.0f;       ///< what unit_offset adds, where it is not one

  friend constexpr bool operator==(const RmsNorm&, const RmsNorm&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("epsilon", self.epsilon);
    visit("unit_offset", self.unit_offset);
    VisitUnless(true, "weight", self.weight, visit);
    VisitUnless(1.0f, "offset", self.offset, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (unit_offset && !weight) return "A norm without a weight has none to add one to.";
    if (offset != 1.0f && !unit_offset) return "What a norm does not add to its weight would be ignored.";
    return epsilon > 0.0f ? nullptr : "kNormEpsilon must be positive: it keeps a norm from dividing by zero.";
  }

  /// The factors, [size], or empty: with unit_offset they are the parameter plus one, or `offset`, so that kernels know
  /// one form.
  using Weights = std::vector<float>;

  void ListParameters(Weights& weights, std::string_view name, Axis size, ParameterList& list) const;

  void Run(const Weights& weights, const NormRun& run) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/norms/detail/rms_norm.h"
#endif

#endif  // SKALD_LAYERS_NORMS_RMS_NORM_H_
