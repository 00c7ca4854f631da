// SPDX-License-Identifier: Apache-2.0
//
// The Qwen2 family (arXiv:2407.10671), which Qwen2.5 (arXiv:2412.15115) belongs to: the layers of Llama, with
// biases on the query, key and value projections. The numbers of each size are those of the config.json on
// the page named above it.

#ifndef SKALD_FAMILIES_QWEN2_QWEN2_H_
#define SKALD_FAMILIES_QWEN2_QWEN2_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Qwen2Family {
  static constexpr std::string_view kModelType = "qwen2";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kQKVBias = true;
};

/// With experts, of which one computes all rows.
struct Qwen2MoeFamily : Qwen2Family {
  static constexpr std::string_view kModelType = "qwen2_moe";
  static constexpr bool kTiedEmbeddings = false;
};

/// MiMo-7B (Xiaomi 2025, arXiv:2505.07608), which has a head for further tokens.
struct MimoFamily : Qwen2Family {
  static constexpr std::string_view kModelType = "mimo";
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/Qwen/Qwen2.5-0.5B
struct Qwen2_5_0_5B : Qwen2Family {
  static constexpr std::string_view kName = "qwen2.5-0.5b";
  static constexpr int kModelDim = 896, kFeedForwardDim = 4864, kVocabSize = 151936;
  static constexpr int kHeads = 14, kKVHeads = 2, kHeadDim = 64;
  static constexpr auto kLayers = RepeatLayers<24>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

/// https://huggingface.co/Qwen/Qwen2.5-1.5B
struct Qwen2_5_1_5B : Qwen2Family {
  static constexpr std::string_view kName = "qwen2.5-1.5b";
  static constexpr int kModelDim = 1536, kFeedForwardDim = 8960, kVocabSize = 151936;
  static constexpr int kHeads = 12, kKVHeads = 2, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<28>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_QWEN2_QWEN2_H_
