// SPDX-License-Identifier: Apache-2.0
//
// The RecurrentGemma family (arXiv:2404.07839), the Griffin architecture (arXiv:2402.19427) at Gemma's scale: two
// RG-LRU layers to each one of attention in a sliding window. The numbers of each size are those of the config.json
// on the page named above it, except where config.json counts otherwise than a Config: its "intermediate_size" is
// twice the width of the feed-forward block, and its "attention_window_size" leaves out the token itself. (So the
// authors define it, https://github.com/google-deepmind/recurrentgemma: a token sees the window before it and itself.)

#ifndef SKALD_FAMILIES_RECURRENT_GEMMA_RECURRENT_GEMMA_H_
#define SKALD_FAMILIES_RECURRENT_GEMMA_RECURRENT_GEMMA_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct RecurrentGemmaFamily {
  static constexpr std::string_view kModelType = "recurrent_gemma";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr int kWindow = 2048 + 1;
  static constexpr int kConvWidth = 4;
  static constexpr float kFinalSoftcap = 30.0f;
  static constexpr bool kTiedEmbeddings = true;
  static constexpr bool kUnitOffsetNorms = true;
  static constexpr bool kScaleEmbeddings = true, kRoundEmbeddingScale = true;
  static constexpr bool kFeedForwardBias = true, kAttentionOutputBias = true;

  /// Two recurrent layers, then a sliding one, and so on.
  template <size_t kCount>
  static constexpr std::array<LayerKind, kCount> TwoToOneLayers() {
    return RepeatLayers<kCount>({LayerKind::kRgLru, LayerKind::kRgLru, LayerKind::kSlidingAttention});
  }
};

/// https://huggingface.co/google/recurrentgemma-2b
struct RecurrentGemma_2B : RecurrentGemmaFamily {
  static constexpr std::string_view kName = "recurrentgemma-2b";
  static constexpr int kModelDim = 2560, kFeedForwardDim = 15360 / 2, kVocabSize = 256000;
  static constexpr int kHeads = 10, kKVHeads = 1, kHeadDim = 256, kRotaryDim = kHeadDim / 2;
  static constexpr int kLruWidth = 2560, kLruBlocks = 10;
  static constexpr auto kLayers = TwoToOneLayers<26>();
};

/// https://huggingface.co/google/recurrentgemma-9b
struct RecurrentGemma_9B : RecurrentGemmaFamily {
  static constexpr std::string_view kName = "recurrentgemma-9b";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 24576 / 2, kVocabSize = 256000;
  static constexpr int kHeads = 16, kKVHeads = 1, kHeadDim = 256, kRotaryDim = kHeadDim / 2;
  static constexpr int kLruWidth = 4096, kLruBlocks = 16;
  static constexpr auto kLayers = TwoToOneLayers<38>();
};

}  // namespace skald

#endif  // SKALD_FAMILIES_RECURRENT_GEMMA_RECURRENT_GEMMA_H_
