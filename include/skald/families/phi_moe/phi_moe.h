// SPDX-License-Identifier: Apache-2.0
//
// The family of Phi-3.5-MoE (arXiv:2404.14219): LayerNorm, biases of attention and of the head, and experts that
// SparseMixer weighs (arXiv:2409.12136).

#ifndef SKALD_FAMILIES_PHI_MOE_PHI_MOE_H_
#define SKALD_FAMILIES_PHI_MOE_PHI_MOE_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct PhiMoeFamily {
  static constexpr std::string_view kModelType = "phimoe";
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_PHI_MOE_PHI_MOE_H_
