// SPDX-License-Identifier: Apache-2.0
//
// The family of Cohere's models: Command R and R+ (https://huggingface.co/CohereLabs/c4ai-command-r-v01) and Command
// R7B (cohere2, https://huggingface.co/CohereLabs/c4ai-command-r7b-12-2024). Attention and feed-forward layer are side
// by side after one LayerNorm without bias. RoPE turns neighbours; Cohere 2 has it in its layers with a window alone.

#ifndef SKALD_FAMILIES_COHERE_COHERE_H_
#define SKALD_FAMILIES_COHERE_COHERE_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

/// Command R.
struct CohereFamily {
  static constexpr std::string_view kModelType = "cohere";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f, .bias = false};
  static constexpr bool kInterleavedRope = true, kParallelLayers = true;
  static constexpr RopeSpec kRope = {.base = 500000.0};
  static constexpr bool kTiedEmbeddings = true;
};

/// Command R7B and A: most layers have a window.
struct Cohere2Family : CohereFamily {
  static constexpr std::string_view kModelType = "cohere2";
  static constexpr RopeSpec kRope = {.base = 10000.0};
};

}  // namespace skald

#endif  // SKALD_FAMILIES_COHERE_COHERE_H_
