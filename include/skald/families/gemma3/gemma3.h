// SPDX-License-Identifier: Apache-2.0
//
// The Gemma 3 family (arXiv:2503.19786), its language model: Gemma 2 with queries and keys normalised per
// head instead of soft caps, five sliding layers to each full one, and a RoPE base for each kind. The numbers
// of each size are those of the config.json on the page named above it. From 4B on the checkpoints are
// multimodal; there the numbers stand under "text_config", which leaves out what the Gemma3TextConfig of
// Hugging Face's transformers assumes anyway (vocabulary, head size, RoPE bases).

#ifndef SKALD_FAMILIES_GEMMA3_GEMMA3_H_
#define SKALD_FAMILIES_GEMMA3_GEMMA3_H_

#include <array>
#include <cstddef>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Gemma3Family {
  static constexpr std::string_view kModelType = "gemma3_text";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr RopeSpec kSlidingRope = {.base = 10000.0};
  static constexpr int kQueryPreScale = 256;
  static constexpr bool kTiedEmbeddings = true;
  static constexpr bool kQKNorm = true;
  static constexpr bool kPostNorms = true;
  static constexpr bool kUnitOffsetNorms = true;
  static constexpr bool kScaleEmbeddings = true;

  /// Five sliding layers, then a full one, and so on.
  template <size_t kCount>
  static constexpr std::array<LayerKind, kCount> FiveToOneLayers() {
    using enum LayerKind;
    return RepeatLayers<kCount>({kSlidingAttention, kSlidingAttention, kSlidingAttention, kSlidingAttention,
                                 kSlidingAttention, kFullAttention});
  }
};

/// The sizes that also read images: trained on 32768 tokens, then stretched to 131072 in the full layers.
struct Gemma3MultimodalFamily : Gemma3Family {
  static constexpr int kVocabSize = 262208;  ///< the tokenizer's 262144, and rows for images
  static constexpr int kWindow = 1024;
  static constexpr RopeSpec kRope = {.base = 1000000.0, .scaling = RopeScaling::kLinear, .factor = 8.0};
};

/// https://huggingface.co/google/gemma-3-270m
struct Gemma3_270M : Gemma3Family {
  static constexpr std::string_view kName = "gemma3-270m";
  static constexpr int kModelDim = 640, kFeedForwardDim = 2048, kVocabSize = 262144;
  static constexpr int kHeads = 4, kKVHeads = 1, kHeadDim = 256;
  static constexpr auto kLayers = FiveToOneLayers<18>();
  static constexpr int kWindow = 512;
};

/// https://huggingface.co/google/gemma-3-1b-pt
struct Gemma3_1B : Gemma3Family {
  static constexpr std::string_view kName = "gemma3-1b";
  static constexpr int kModelDim = 1152, kFeedForwardDim = 6912, kVocabSize = 262144;
  static constexpr int kHeads = 4, kKVHeads = 1, kHeadDim = 256;
  static constexpr auto kLayers = FiveToOneLayers<26>();
  static constexpr int kWindow = 512;
};

/// https://huggingface.co/google/gemma-3-4b-pt
struct Gemma3_4B : Gemma3MultimodalFamily {
  static constexpr std::string_view kName = "gemma3-4b";
  static constexpr int kModelDim = 2560, kFeedForwardDim = 10240;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 256;
  static constexpr auto kLayers = FiveToOneLayers<34>();
};

/// https://huggingface.co/google/gemma-3-12b-pt
struct Gemma3_12B : Gemma3MultimodalFamily {
  static constexpr std::string_view kName = "gemma3-12b";
  static constexpr int kModelDim = 3840, kFeedForwardDim = 15360;
  static constexpr int kHeads = 16, kKVHeads = 8, kHeadDim = 256;
  static constexpr auto kLayers = FiveToOneLayers<48>();
};

/// https://huggingface.co/google/gemma-3-27b-pt
struct Gemma3_27B : Gemma3MultimodalFamily {
  static constexpr std::string_view kName = "gemma3-27b";
  static constexpr int kModelDim = 5376, kFeedForwardDim = 21504;
  static constexpr int kHeads = 32, kKVHeads = 16, kHeadDim = 128;
  static constexpr int kQueryPreScale = 168;  ///< kModelDim / kHeads, unlike the smaller ones
  static constexpr auto kLayers = FiveToOneLayers<62>();
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GEMMA3_GEMMA3_H_
