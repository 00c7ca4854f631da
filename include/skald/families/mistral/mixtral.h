// SPDX-License-Identifier: Apache-2.0
//
// The Mixtral family (arXiv:2401.04088): the layers of Mistral, without its window, with experts for feed-forward
// layers. The numbers of each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_MISTRAL_MIXTRAL_H_
#define SKALD_FAMILIES_MISTRAL_MIXTRAL_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald {

struct MixtralFamily {
  static constexpr std::string_view kModelType = "mixtral";
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/mistralai/Mixtral-8x7B-v0.1
struct Mixtral_8x7B : MixtralFamily {
  static constexpr std::string_view kName = "mixtral-8x7b";
  static constexpr int kModelDim = 4096, kVocabSize = 32000;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kFullAttention});
  static constexpr MixtureOfExperts kFeedForward = {.experts = 8, .chosen = 2, .width = 14336};
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MISTRAL_MIXTRAL_H_
