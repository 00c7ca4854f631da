// SPDX-License-Identifier: Apache-2.0
//
// The family of Falcon 7B and 40B (arXiv:2311.16867): attention beside a feed-forward layer without a gate, after one
// LayerNorm or, in the larger models, each after its own.

#ifndef SKALD_FAMILIES_FALCON_FALCON_H_
#define SKALD_FAMILIES_FALCON_FALCON_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct FalconFamily {
  static constexpr std::string_view kModelType = "falcon";
  static constexpr Activation kActivation = Activation::kGeluErf;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kParallelLayers = true;
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_FALCON_FALCON_H_
