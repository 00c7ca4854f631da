// SPDX-License-Identifier: Apache-2.0
//
// The family of Apertus (arXiv:2509.14233): QK-norm, and feed-forward layers without a gate whose activation, xIELU, is
// learned.

#ifndef SKALD_FAMILIES_APERTUS_APERTUS_H_
#define SKALD_FAMILIES_APERTUS_APERTUS_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct ApertusFamily {
  static constexpr std::string_view kModelType = "apertus";
  static constexpr Activation kActivation = Activation::kXielu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kQKNorm = true;
  static constexpr RopeSpec kRope = {.base = 12000000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_APERTUS_APERTUS_H_
