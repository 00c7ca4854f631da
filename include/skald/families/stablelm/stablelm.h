// SPDX-License-Identifier: Apache-2.0
//
// The family of StableLM 2 1.6B and 12B, StableLM 3B and Zephyr (arXiv:2402.17834): the layers of Llama with LayerNorm,
// and RoPE of a part of each head.

#ifndef SKALD_FAMILIES_STABLELM_STABLELM_H_
#define SKALD_FAMILIES_STABLELM_STABLELM_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct StableLmFamily {
  static constexpr std::string_view kModelType = "stablelm";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_STABLELM_STABLELM_H_
