// SPDX-License-Identifier: Apache-2.0
//
// The Config of the model in this folder, which train.py made: a small Gemma 3 that writes in the manner of
// the King James Bible. The numbers are those of config.json.

#ifndef SKALD_EXAMPLES_DEMO_MODEL_DEMO_CONFIG_H_
#define SKALD_EXAMPLES_DEMO_MODEL_DEMO_CONFIG_H_

#include <string_view>

#include "skald/families/gemma3/gemma3.h"

struct DemoModel : skald::Gemma3Family {
  using WeightTypes = skald::FloatWeights;  // its file is not quantised
  static constexpr std::string_view kName = "demo";
  static constexpr int kModelDim = 256, kFeedForwardDim = 768, kVocabSize = 2048;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 64;
  static constexpr auto kLayers =
      skald::RepeatLayers<4>({skald::LayerKind::kSlidingAttention, skald::LayerKind::kFullAttention});
  static constexpr int kWindow = 64;
  static constexpr int kQueryPreScale = 64;
  static constexpr skald::RopeSpec kRope = {.base = 100000.0};
};

#endif  // SKALD_EXAMPLES_DEMO_MODEL_DEMO_CONFIG_H_
