// SPDX-License-Identifier: Apache-2.0
//
// The model whose packed files are fuzzed: as small as can be.

#ifndef SKALD_TESTS_FUZZ_PACKED_MODEL_H_
#define SKALD_TESTS_FUZZ_PACKED_MODEL_H_

#include <string_view>

#include "skald/configs/form/model_config.h"

namespace skald::testing {

struct FuzzedModel {
  static constexpr std::string_view kName = "fuzzed";
  static constexpr int kModelDim = 4, kFeedForwardDim = 4, kVocabSize = 5;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 2;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {};
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_FUZZ_PACKED_MODEL_H_
