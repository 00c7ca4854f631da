// SPDX-License-Identifier: Apache-2.0
//
// The family of GPT-2 (https://github.com/openai/gpt-2): learned positions instead of RoPE, LayerNorm, biases
// everywhere, feed-forward layers without a gate.

#ifndef SKALD_FAMILIES_GPT2_GPT2_H_
#define SKALD_FAMILIES_GPT2_GPT2_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct Gpt2Family {
  static constexpr std::string_view kModelType = "gpt2";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kFeedForwardBias = true;
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GPT2_GPT2_H_
