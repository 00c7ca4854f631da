// SPDX-License-Identifier: Apache-2.0
//
// SmolLM3: the layers of Llama, each fourth without RoPE (arXiv:2501.18795). The numbers are those of the config.json
// on the page named above it.

#ifndef SKALD_FAMILIES_SMOLLM3_SMOLLM3_H_
#define SKALD_FAMILIES_SMOLLM3_SMOLLM3_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

/// The family of SmolLM3.
struct SmolLM3Family {
  static constexpr std::string_view kModelType = "smollm3";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 2000000.0};
  static constexpr bool kTiedEmbeddings = true;

  /// Three layers with positions, then one without, and so on.
  template <size_t kCount>
  static constexpr std::array<LayerKind, kCount> ThreeToOneLayers() {
    using enum LayerKind;
    return RepeatLayers<kCount>({kFullAttention, kFullAttention, kFullAttention, kNopeAttention});
  }
};

/// https://huggingface.co/HuggingFaceTB/SmolLM3-3B
struct SmolLM3_3B : SmolLM3Family {
  static constexpr std::string_view kName = "smollm3-3b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 11008, kVocabSize = 128256;
  static constexpr int kHeads = 16, kKVHeads = 4, kHeadDim = 128;
  static constexpr auto kLayers = ThreeToOneLayers<36>();
  static constexpr RopeSpec kRope = {.base = 5000000.0};
};

}  // namespace skald

#endif  // SKALD_FAMILIES_SMOLLM3_SMOLLM3_H_
