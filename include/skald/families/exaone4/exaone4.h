// SPDX-License-Identifier: Apache-2.0
//
// The EXAONE 4 family (arXiv:2507.11407): norms after layers instead of before, queries and keys normalised per head.
// The larger models have three layers with a window and RoPE to one with neither.

#ifndef SKALD_FAMILIES_EXAONE4_EXAONE4_H_
#define SKALD_FAMILIES_EXAONE4_EXAONE4_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Exaone4Family {
  static constexpr std::string_view kModelType = "exaone4";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kPreNorms = false, kPostNorms = true;
  static constexpr bool kQKNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_EXAONE4_EXAONE4_H_
