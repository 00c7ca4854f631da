// SPDX-License-Identifier: Apache-2.0
//
// The family of Phi-1, Phi-1.5 and Phi-2 (arXiv:2309.05463): attention beside a feed-forward layer without a gate,
// after one LayerNorm, biases everywhere, RoPE of a part of each head.

#ifndef SKALD_FAMILIES_PHI_PHI_H_
#define SKALD_FAMILIES_PHI_PHI_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct PhiFamily {
  static constexpr std::string_view kModelType = "phi";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kFeedForwardBias = true, kHeadBias = true;
  static constexpr bool kParallelLayers = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_PHI_PHI_H_
