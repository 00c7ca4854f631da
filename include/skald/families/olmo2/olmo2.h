// SPDX-License-Identifier: Apache-2.0
//
// The OLMo 2 family (arXiv:2501.00656): the layers of Llama with norms after them instead of before, and with queries
// and keys normalised as whole projections. The numbers of each size are those of the config.json on the page named
// above it.

#ifndef SKALD_FAMILIES_OLMO2_OLMO2_H_
#define SKALD_FAMILIES_OLMO2_OLMO2_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Olmo2Family {
  static constexpr std::string_view kModelType = "olmo2";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kPreNorms = false, kPostNorms = true;
  static constexpr bool kQKProjectionNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

/// Common to the published sizes.
struct PublishedOlmo2 : Olmo2Family {
  static constexpr int kVocabSize = 100352, kHeadDim = 128;
  static constexpr RopeSpec kRope = {.base = 500000.0};
};

/// https://huggingface.co/allenai/OLMo-2-0425-1B
struct Olmo2_1B : PublishedOlmo2 {
  static constexpr std::string_view kName = "olmo2-1b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 8192;
  static constexpr int kHeads = 16, kKVHeads = 16;
  static constexpr auto kLayers = RepeatLayers<16>({LayerKind::kFullAttention});
};

/// https://huggingface.co/allenai/OLMo-2-1124-7B
struct Olmo2_7B : PublishedOlmo2 {
  static constexpr std::string_view kName = "olmo2-7b";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 11008;
  static constexpr int kHeads = 32, kKVHeads = 32;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kFullAttention});
};

/// https://huggingface.co/allenai/OLMo-2-1124-13B
struct Olmo2_13B : PublishedOlmo2 {
  static constexpr std::string_view kName = "olmo2-13b";
  static constexpr int kModelDim = 5120, kFeedForwardDim = 13824;
  static constexpr int kHeads = 40, kKVHeads = 40;
  static constexpr auto kLayers = RepeatLayers<40>({LayerKind::kFullAttention});
};

/// https://huggingface.co/allenai/OLMo-2-0325-32B
struct Olmo2_32B : PublishedOlmo2 {
  static constexpr std::string_view kName = "olmo2-32b";
  static constexpr int kModelDim = 5120, kFeedForwardDim = 27648;
  static constexpr int kHeads = 40, kKVHeads = 8;
  static constexpr auto kLayers = RepeatLayers<64>({LayerKind::kFullAttention});
};

}  // namespace skald

#endif  // SKALD_FAMILIES_OLMO2_OLMO2_H_
