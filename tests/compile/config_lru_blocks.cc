// SPDX-License-Identifier: Apache-2.0
// expect: kLruWidth must be a positive multiple of kLruBlocks: the matrices of the gates are block-diagonal.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"

namespace skald {

struct Mine : RecurrentGemmaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16;
#ifdef SKALD_EXPECT_FAILURE
  static constexpr int kLruWidth = 32, kLruBlocks = 3;
#else
  static constexpr int kLruWidth = 33, kLruBlocks = 3;
#endif
  static constexpr auto kLayers = TwoToOneLayers<3>();
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
