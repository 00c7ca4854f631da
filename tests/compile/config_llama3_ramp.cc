// SPDX-License-Identifier: Apache-2.0
// expect: RopeScaling::kLlama3 needs a positive original_context and 0 < low_frequency_factor

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"

namespace skald {

struct Mine : LlamaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.scaling = RopeScaling::kLlama3,
                                     .factor = 8.0,
#ifdef SKALD_EXPECT_FAILURE
                                     .low_frequency_factor = 4.0,
#else
                                     .low_frequency_factor = 1.0,
#endif
                                     .high_frequency_factor = 4.0};
  static constexpr bool kTiedEmbeddings = true;
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
