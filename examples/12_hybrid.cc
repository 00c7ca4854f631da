// SPDX-License-Identifier: Apache-2.0
//
// A hybrid of your own: full attention, sliding windows and recurrence in one list of layers, in one cache. The weights
// are random, so it says nothing; what it shows is state: how little a long conversation keeps, where it can be rewound
// to, and that rewinding is exact.
//
//   build/release/examples/12_hybrid

#include <iostream>

#include "skald/families/llama/llama.h"
#include "skald/model/load.h"
#include "skald/skald.h"

struct MyHybrid : skald::LlamaFamily {
  static constexpr std::string_view kName = "my-hybrid";
  static constexpr int kModelDim = 256, kFeedForwardDim = 512, kVocabSize = 1000;
  static constexpr auto kLayers =
      skald::RepeatLayers<12>({skald::LayerKind::kRgLru, skald::LayerKind::kRgLru, skald::LayerKind::kSlidingAttention,
                               skald::LayerKind::kMamba2, skald::LayerKind::kMamba2, skald::LayerKind::kFullAttention});
  static constexpr bool kTiedEmbeddings = true;
  // Attention.
  static constexpr int kHeads = 8, kKVHeads = 2, kHeadDim = 32, kWindow = 128;
  static constexpr skald::RopeSpec kRope = {.base = 10000.0};
  // Recurrence.
  static constexpr int kConvWidth = 4, kLruWidth = 256, kLruBlocks = 4;
  static constexpr int kSsmHeads = 8, kSsmHeadDim = 64, kSsmGroups = 1, kStateDim = 64;
};

skald::Result<void> Run() {
  const skald::Model<MyHybrid> model(skald::RandomWeights<MyHybrid>(/*seed=*/1));
  // A resume point every 100 tokens, and the last 4 tokens can always be taken back.
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<MyHybrid>({.resume_point_every = 100, .rewind_tokens = 4}));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());

  std::vector<int32_t> tokens(250);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % MyHybrid::kVocabSize);
  SKALD_ASSIGN(const auto first, model.Forward(cache, tokens, workspace));
  const std::vector<float> expected(first.begin(), first.end());
  const skald::CacheUsage usage = cache.usage();
  std::cout << cache.size() << " tokens hold " << (usage.exclusive_bytes + usage.shared_bytes) / 1024 << " KiB\n";
  SKALD_ASSIGN(const auto points, cache.ResumePoints());
  for (const auto& [begin, end] : points) std::cout << "  can resume at " << begin << " to " << end << '\n';

  if (const auto refused = cache.Truncate(150); !refused) std::cout << refused.error().message << '\n';
  SKALD_TRY(cache.Truncate(200));
  SKALD_ASSIGN(const auto again, model.Forward(cache, std::span(tokens).subspan(200), workspace));
  const bool same = std::equal(expected.begin(), expected.end(), again.begin());
  std::cout << "rewound to 200 and computed again: " << (same ? "the same bits" : "something else") << '\n';
  return {};
}

int main() {
  const auto done = Run();
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
