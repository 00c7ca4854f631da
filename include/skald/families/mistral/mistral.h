// SPDX-License-Identifier: Apache-2.0
//
// The Mistral family (arXiv:2310.06825): the layers of Llama, at first all with a sliding window, later
// without. The numbers of each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_MISTRAL_MISTRAL_H_
#define SKALD_FAMILIES_MISTRAL_MISTRAL_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct MistralFamily {
  static constexpr std::string_view kModelType = "mistral";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/mistralai/Mistral-7B-v0.1
struct Mistral_7B_V0_1 : MistralFamily {
  static constexpr std::string_view kName = "mistral-7b-v0.1";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 14336, kVocabSize = 32000;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 4096;
  static constexpr RopeSpec kRope = {.base = 10000.0};
};

/// https://huggingface.co/mistralai/Mistral-7B-v0.3
struct Mistral_7B_V0_3 : MistralFamily {
  static constexpr std::string_view kName = "mistral-7b-v0.3";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 14336, kVocabSize = 32768;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MISTRAL_MISTRAL_H_
