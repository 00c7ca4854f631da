// SPDX-License-Identifier: Apache-2.0
//
// The Qwen3 family (arXiv:2505.09388), dense models: the layers of Llama, with queries and keys normalised
// per head instead of biases. The numbers of each size are those of the config.json on the page named above
// it.

#ifndef SKALD_FAMILIES_QWEN3_QWEN3_H_
#define SKALD_FAMILIES_QWEN3_QWEN3_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Qwen3Family {
  static constexpr std::string_view kModelType = "qwen3";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kQKNorm = true;
};

/// https://huggingface.co/Qwen/Qwen3-0.6B
struct Qwen3_0_6B : Qwen3Family {
  static constexpr std::string_view kName = "qwen3-0.6b";
  static constexpr int kModelDim = 1024, kFeedForwardDim = 3072, kVocabSize = 151936;
  static constexpr int kHeads = 16, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<28>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

/// https://huggingface.co/Qwen/Qwen3-4B (the releases named 2507 have the sizes of this one and another RoPE
/// base)
struct Qwen3_4B : Qwen3Family {
  static constexpr std::string_view kName = "qwen3-4b";
  static constexpr int kModelDim = 2560, kFeedForwardDim = 9728, kVocabSize = 151936;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<36>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_QWEN3_QWEN3_H_
