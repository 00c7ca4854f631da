// SPDX-License-Identifier: Apache-2.0
//
// The Granite 4 family of IBM: layers of Mamba-2, and of attention without RoPE between, each followed by a gated
// feed-forward layer, which mixtures of experts have beside the experts; and multipliers of embeddings, scores, what
// blocks add, and logits.

#ifndef SKALD_CONFIGS_FAMILIES_RECURRENT_GRANITE4_H_
#define SKALD_CONFIGS_FAMILIES_RECURRENT_GRANITE4_H_

#include <string_view>

#include "skald/configs/form/layer.h"

namespace skald {

struct Granite4Family {
  static constexpr std::string_view kModelType = "granitemoehybrid";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr int kConvWidth = 4;
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_CONFIGS_FAMILIES_RECURRENT_GRANITE4_H_
