// SPDX-License-Identifier: Apache-2.0
// expect: kHeadDim must be even: RoPE rotates pairs of elements.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"

namespace skald {

struct Mine : LlamaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
#ifdef SKALD_EXPECT_FAILURE
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 15;
#else
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
#endif
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
