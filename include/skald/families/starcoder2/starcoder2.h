// SPDX-License-Identifier: Apache-2.0
//
// The family of StarCoder 2 (arXiv:2402.19173): LayerNorm, biases everywhere, and feed-forward layers without a gate.

#ifndef SKALD_FAMILIES_STARCODER2_STARCODER2_H_
#define SKALD_FAMILIES_STARCODER2_STARCODER2_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct StarCoder2Family {
  static constexpr std::string_view kModelType = "starcoder2";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kFeedForwardBias = true;
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_STARCODER2_STARCODER2_H_
