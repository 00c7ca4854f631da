// SPDX-License-Identifier: Apache-2.0
// expect: A Config with kSlidingAttention layers must give a positive kWindow.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"

namespace skald {

struct Mine : LlamaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kSlidingAttention});
#ifndef SKALD_EXPECT_FAILURE
  static constexpr int kWindow = 8;
#endif
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
