// SPDX-License-Identifier: Apache-2.0
// expect: A Config with attention layers must give kHeads, kKVHeads, kHeadDim and kRope.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/mamba/mamba.h"

namespace skald {

// A hybrid of one's own.
struct Mine : MambaFamily {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kInnerDim = 64, kTimeStepRank = 2, kVocabSize = 100;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba, LayerKind::kFullAttention});
#ifndef SKALD_EXPECT_FAILURE
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16;
  static constexpr RopeSpec kRope = {.base = 10000.0};
#endif
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
