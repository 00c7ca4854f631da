// SPDX-License-Identifier: Apache-2.0
// expect: A Config must give kModelType

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"

namespace skald {

struct Mine {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr Activation kActivation = Activation::kSilu;
#ifndef SKALD_EXPECT_FAILURE
  static constexpr std::string_view kModelType = "llama";
#endif
};

const NamedSpec kModel = NamedSpecOf<Mine>();

}  // namespace skald
