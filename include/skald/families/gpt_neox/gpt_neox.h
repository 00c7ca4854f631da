// SPDX-License-Identifier: Apache-2.0
//
// The family of GPT-NeoX and Pythia (arXiv:2204.06745): attention and feed-forward layers side by side, each after a
// LayerNorm of its own, biases everywhere, RoPE of a part of each head.

#ifndef SKALD_FAMILIES_GPT_NEOX_GPT_NEOX_H_
#define SKALD_FAMILIES_GPT_NEOX_GPT_NEOX_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct GptNeoXFamily {
  static constexpr std::string_view kModelType = "gpt_neox";
  static constexpr Activation kActivation = Activation::kGeluErf;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kFeedForwardBias = true;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GPT_NEOX_GPT_NEOX_H_
