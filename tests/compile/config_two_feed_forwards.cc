// SPDX-License-Identifier: Apache-2.0
// expect: A Config must give kFeedForwardDim, for gated layers, or kFeedForward, and both only with kDenseLayers

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"

namespace skald {

struct Mine : LlamaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
  static constexpr FeedForward kFeedForward = {.width = 48};
#ifdef SKALD_EXPECT_FAILURE
  static constexpr int kFeedForwardDim = 48;
#endif
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
