// SPDX-License-Identifier: Apache-2.0
//
// The Gemma 2 family (arXiv:2408.00118): Gemma with norms after attention and feed-forward too, soft caps on
// attention scores and logits, and a sliding window in every other layer. The numbers of each size are those
// of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_GEMMA2_GEMMA2_H_
#define SKALD_FAMILIES_GEMMA2_GEMMA2_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Gemma2Family {
  static constexpr std::string_view kModelType = "gemma2";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr int kWindow = 4096;
  static constexpr int kQueryPreScale = 256;
  static constexpr float kAttentionSoftcap = 50.0f, kFinalSoftcap = 30.0f;
  static constexpr bool kTiedEmbeddings = true;
  static constexpr bool kPostNorms = true;
  static constexpr bool kUnitOffsetNorms = true;
  static constexpr bool kScaleEmbeddings = true;

  /// Sliding and full layers by turns, sliding first.
  template <size_t kCount>
  static constexpr std::array<LayerKind, kCount> AlternatingLayers() {
    return RepeatLayers<kCount>({LayerKind::kSlidingAttention, LayerKind::kFullAttention});
  }
};

/// https://huggingface.co/google/gemma-2-2b
struct Gemma2_2B : Gemma2Family {
  static constexpr std::string_view kName = "gemma2-2b";
  static constexpr int kModelDim = 2304, kFeedForwardDim = 9216, kVocabSize = 256000;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 256;
  static constexpr auto kLayers = AlternatingLayers<26>();
};

/// https://huggingface.co/google/gemma-2-9b
struct Gemma2_9B : Gemma2Family {
  static constexpr std::string_view kName = "gemma2-9b";
  static constexpr int kModelDim = 3584, kFeedForwardDim = 14336, kVocabSize = 256000;
  static constexpr int kHeads = 16, kKVHeads = 8, kHeadDim = 256;
  static constexpr auto kLayers = AlternatingLayers<42>();
};

/// https://huggingface.co/google/gemma-2-27b
struct Gemma2_27B : Gemma2Family {
  static constexpr std::string_view kName = "gemma2-27b";
  static constexpr int kModelDim = 4608, kFeedForwardDim = 36864, kVocabSize = 256000;
  static constexpr int kHeads = 32, kKVHeads = 16, kHeadDim = 128;
  static constexpr int kQueryPreScale = 144;  ///< kModelDim / kHeads, unlike the smaller ones
  static constexpr auto kLayers = AlternatingLayers<46>();
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GEMMA2_GEMMA2_H_
