// SPDX-License-Identifier: Apache-2.0
//
// The family of MiniMax-M2 (https://huggingface.co/MiniMaxAI/MiniMax-M2): queries and keys normalised as whole
// projections, RoPE of a part of each head, experts weighed by sigmoids and chosen with a bias of each.

#ifndef SKALD_FAMILIES_MINIMAX_M2_MINIMAX_M2_H_
#define SKALD_FAMILIES_MINIMAX_M2_MINIMAX_M2_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct MiniMaxM2Family {
  static constexpr std::string_view kModelType = "minimax_m2";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 5000000.0};
  static constexpr bool kQKProjectionNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MINIMAX_M2_MINIMAX_M2_H_
