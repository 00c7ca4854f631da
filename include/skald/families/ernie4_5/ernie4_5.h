// SPDX-License-Identifier: Apache-2.0
//
// The families of ERNIE 4.5 (https://github.com/PaddlePaddle/ERNIE), dense and with experts: the layers of Llama, whose
// RoPE turns neighbours. Experts are chosen by a softmax plus a bias of each.

#ifndef SKALD_FAMILIES_ERNIE4_5_ERNIE4_5_H_
#define SKALD_FAMILIES_ERNIE4_5_ERNIE4_5_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

/// Dense models.
struct Ernie45Family {
  static constexpr std::string_view kModelType = "ernie4_5";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 500000.0};
  static constexpr bool kInterleavedRope = true;
  static constexpr bool kTiedEmbeddings = true;
};

/// Mixtures of experts.
struct Ernie45MoeFamily : Ernie45Family {
  static constexpr std::string_view kModelType = "ernie4_5_moe";
};

}  // namespace skald

#endif  // SKALD_FAMILIES_ERNIE4_5_ERNIE4_5_H_
