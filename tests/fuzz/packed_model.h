// SPDX-License-Identifier: Apache-2.0
//
// The model whose packed files are fuzzed: as small as can be.

#ifndef SKALD_TESTS_FUZZ_PACKED_MODEL_H_
#define SKALD_TESTS_FUZZ_PACKED_MODEL_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {

struct FuzzedModel : TinyTied {
  static constexpr std::string_view kName = "fuzzed";
  static constexpr int kModelDim = 4, kFeedForwardDim = 4, kVocabSize = 5;
  static constexpr int kHeads = 2, kKVHeads = 1;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_FUZZ_PACKED_MODEL_H_
