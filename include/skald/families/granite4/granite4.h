// SPDX-License-Identifier: Apache-2.0
//
// The Granite 4 family of IBM: layers of Mamba-2, and of attention without RoPE between, each followed by a gated
// feed-forward layer, which mixtures of experts have beside the experts; and multipliers of embeddings, scores, what
// blocks add, and logits; and models of attention with RoPE alone. The numbers of each size are those of the metadata
// on the page named above it.

#ifndef SKALD_FAMILIES_GRANITE4_GRANITE4_H_
#define SKALD_FAMILIES_GRANITE4_GRANITE4_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Granite4Family {
  static constexpr std::string_view kModelType = "granitemoehybrid";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr int kConvWidth = 4;
  static constexpr bool kTiedEmbeddings = true;
};

/// Common to the published sizes.
struct PublishedGranite4 : Granite4Family {
  static constexpr int kVocabSize = 100352;
  static constexpr float kEmbeddingMultiplier = 12.0f;
};

/// https://ollama.com/ibm/granite4:350m-h-base-q4_K_S
struct Granite4_H_350M : PublishedGranite4 {
  static constexpr std::string_view kName = "granite-4.0-h-350m";
  static constexpr int kModelDim = 768, kFeedForwardDim = 2048;
  static constexpr int kHeads = 12, kKVHeads = 4, kHeadDim = 64;
  static constexpr int kSsmHeads = 48, kSsmHeadDim = 32, kStateDim = 128, kSsmGroups = 1;
  static constexpr auto kLayers = [] {
    std::array<LayerKind, 32> layers = RepeatLayers<32>({LayerKind::kMamba2});
    for (const size_t layer : {10u, 13u, 17u, 27u}) layers[layer] = LayerKind::kNopeAttention;
    return layers;
  }();
  static constexpr double kQueryPreScale = 4096;
  static constexpr float kResidualMultiplier = 0.246f, kLogitsScaling = 3.0f;
};

/// https://ollama.com/ibm/granite4:1b-base-q5_K_M
struct Granite4_1B : PublishedGranite4 {
  static constexpr std::string_view kName = "granite-4.0-1b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 4096;
  static constexpr int kHeads = 16, kKVHeads = 4, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<40>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1e7};
  static constexpr double kQueryPreScale = 16384;
  static constexpr float kResidualMultiplier = 0.22f, kLogitsScaling = 8.0f;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GRANITE4_GRANITE4_H_
