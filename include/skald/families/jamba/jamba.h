// SPDX-License-Identifier: Apache-2.0
//
// The Jamba family (Lieber et al. 2024, arXiv:2403.19887): Mamba whose selection is normalised, attention without
// positions in a few layers, and experts in some.

#ifndef SKALD_FAMILIES_JAMBA_JAMBA_H_
#define SKALD_FAMILIES_JAMBA_JAMBA_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct JambaFamily {
  static constexpr std::string_view kModelType = "jamba";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_JAMBA_JAMBA_H_
