// SPDX-License-Identifier: Apache-2.0
//
// The Configs that the program knows: the published ones, the demo model's and that of a very small one.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_CONFIGS_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_CONFIGS_H_

#include <string_view>

#include "demo_model/demo_config.h"
#include "skald/families/published.h"

namespace skald::program {

// https://huggingface.co/karpathy/tinyllamas/tree/main/stories260K
struct Stories260K : LlamaFamily {
  static constexpr std::string_view kName = "stories260k";
  static constexpr int kModelDim = 64, kFeedForwardDim = 172, kVocabSize = 512;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 8;
  static constexpr auto kLayers = RepeatLayers<5>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

using KnownConfigs = PublishedConfigs::With<DemoModel, Stories260K>;

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_CONFIGS_H_
