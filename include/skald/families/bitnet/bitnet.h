// SPDX-License-Identifier: Apache-2.0
//
// The family of BitNet b1.58 (arXiv:2504.12285): the layers of Llama with a norm before each layer's last projection,
// trained with ternary weights.

#ifndef SKALD_FAMILIES_BITNET_BITNET_H_
#define SKALD_FAMILIES_BITNET_BITNET_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct BitNetFamily {
  static constexpr std::string_view kModelType = "bitnet";
  static constexpr Activation kActivation = Activation::kReluSquared;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 500000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_BITNET_BITNET_H_
