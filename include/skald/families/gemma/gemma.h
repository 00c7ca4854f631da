// SPDX-License-Identifier: Apache-2.0
//
// The first Gemma family (arXiv:2403.08295): GeGLU, scaled embeddings, norms that multiply by (1 + weight). The numbers
// of each size are those of the config.json on the page named above it. (It gives "hidden_act" as "gelu", which means
// the tanh form that these models were trained with.)

#ifndef SKALD_FAMILIES_GEMMA_GEMMA_H_
#define SKALD_FAMILIES_GEMMA_GEMMA_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct GemmaFamily {
  static constexpr std::string_view kModelType = "gemma";
  static constexpr Activation kActivation = Activation::kGeluTanh;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
  static constexpr bool kUnitOffsetNorms = true;
  static constexpr bool kScaleEmbeddings = true;
};

/// https://huggingface.co/google/gemma-2b
struct Gemma_2B : GemmaFamily {
  static constexpr std::string_view kName = "gemma-2b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 16384, kVocabSize = 256000;
  static constexpr int kHeads = 8, kKVHeads = 1, kHeadDim = 256;
  static constexpr auto kLayers = RepeatLayers<18>({LayerKind::kFullAttention});
};

/// https://huggingface.co/google/gemma-7b
struct Gemma_7B : GemmaFamily {
  static constexpr std::string_view kName = "gemma-7b";
  static constexpr int kModelDim = 3072, kFeedForwardDim = 24576, kVocabSize = 256000;
  static constexpr int kHeads = 16, kKVHeads = 16, kHeadDim = 256;
  static constexpr auto kLayers = RepeatLayers<28>({LayerKind::kFullAttention});
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GEMMA_GEMMA_H_
