// SPDX-License-Identifier: Apache-2.0
//
// A user's program: a Config of its own, a cache for it, and a kernel that goes through the dispatch.

#include <cstdio>

#include "skald/families/llama/llama.h"
#include "skald/kernels/kernels.h"
#include "skald/skald.h"

struct TinyConfig : skald::LlamaFamily {
  static constexpr std::string_view kName = "tiny";
  static constexpr int kModelDim = 64, kFeedForwardDim = 128, kVocabSize = 256;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = skald::RepeatLayers<2>({skald::LayerKind::kFullAttention});
  static constexpr skald::RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

int main() {
  const auto cache = skald::CreateKVCache<TinyConfig>();
  if (!cache) return std::puts(cache.error().message.c_str()), 1;

  float sum[3] = {1, 2, 3};
  const float addend[3] = {10, 20, 30};
  skald::Kernels<>::Add({.accumulator = sum, .addend = addend, .begin = 0, .end = 3});
  return sum[0] == 11 && sum[1] == 22 && sum[2] == 33 ? 0 : 1;
}
