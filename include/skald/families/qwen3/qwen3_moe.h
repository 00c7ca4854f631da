// SPDX-License-Identifier: Apache-2.0
//
// The Qwen3 family (arXiv:2505.09388), mixtures of experts: the layers of the dense models, with experts for
// feed-forward layers. The numbers of each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_QWEN3_QWEN3_MOE_H_
#define SKALD_FAMILIES_QWEN3_QWEN3_MOE_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/families/qwen3/qwen3.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald {

struct Qwen3MoeFamily : Qwen3Family {
  static constexpr std::string_view kModelType = "qwen3_moe";
};

/// https://huggingface.co/Qwen/Qwen3-30B-A3B (the releases named 2507 have the sizes of this one and another RoPE base)
struct Qwen3_30B_A3B : Qwen3MoeFamily {
  static constexpr std::string_view kName = "qwen3-30b-a3b";
  static constexpr int kModelDim = 2048, kVocabSize = 151936;
  static constexpr int kHeads = 32, kKVHeads = 4, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<48>({LayerKind::kFullAttention});
  static constexpr MixtureOfExperts kFeedForward = {.experts = 128, .chosen = 8, .width = 768};
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_QWEN3_QWEN3_MOE_H_
