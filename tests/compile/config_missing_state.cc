// SPDX-License-Identifier: Apache-2.0
// expect: A Config with kMamba2 layers must give kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups.

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/mamba2/mamba2.h"

namespace skald {

struct Mine : Mamba2Family {
  static constexpr std::string_view kName = "mine";
  static constexpr int kModelDim = 32, kVocabSize = 100;
  static constexpr int kSsmHeads = 4, kSsmHeadDim = 16, kSsmGroups = 1;
#ifndef SKALD_EXPECT_FAILURE
  static constexpr int kStateDim = 16;
#endif
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba2});
  static constexpr bool kTiedEmbeddings = true;
};

static_assert(CheckConfig<Mine>());

}  // namespace skald
