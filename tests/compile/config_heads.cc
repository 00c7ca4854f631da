// SPDX-License-Identifier: Apache-2.0
// expect: kHeads must be a multiple of kKVHeads: each key/value head serves the same number of query heads.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"

namespace skald {

struct Mine : LlamaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
#ifdef SKALD_EXPECT_FAILURE
  static constexpr int kHeads = 4, kKVHeads = 3, kHeadDim = 16;
#else
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
#endif
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
