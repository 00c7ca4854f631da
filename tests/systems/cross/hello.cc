// SPDX-License-Identifier: Apache-2.0
//
// Prints hashes of what models compute and sample, so that systems can be compared: a hybrid with weights at random,
// and the model in the folder that is given, which must be the demo model.

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

#include "examples/demo_model/demo_config.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/families/llama/llama.h"
#include "skald/skald.h"

struct Hybrid : skald::LlamaFamily {
  using WeightTypes = skald::FloatWeights;  // fewer kernels to compile
  static constexpr std::string_view kName = "hybrid";
  static constexpr int kModelDim = 128, kFeedForwardDim = 256, kVocabSize = 1000;
  static constexpr auto kLayers = skald::RepeatLayers<4>({skald::LayerKind::kRgLru, skald::LayerKind::kSlidingAttention,
                                                          skald::LayerKind::kMamba2, skald::LayerKind::kFullAttention});
  static constexpr bool kTiedEmbeddings = true;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 32, kWindow = 16;
  static constexpr skald::RopeSpec kRope = {.base = 10000.0};
  static constexpr int kConvWidth = 4, kLruWidth = 128, kLruBlocks = 4;
  static constexpr int kSsmHeads = 8, kSsmHeadDim = 32, kSsmGroups = 1, kStateDim = 32;
};

// A hash of the logits of a prompt and of 48 tokens that are drawn after it, and one of these tokens.
template <class Config>
skald::Result<void> Print(const skald::Model<Config>& model) {
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<Config>());
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace({.threads = 3}));
  std::vector<int32_t> tokens(40), drawn;
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 997);
  const skald::SamplerSettings settings = {.temperature = 0.9f, .top_k = 50, .top_p = 0.95f, .random = {.seed = 7}};
  uint64_t hash = 0;
  for (int i = 0; i < 48; ++i) {
    SKALD_ASSIGN(const auto logits, model.Forward(cache, tokens, workspace));
    hash = hash * 31 + skald::Xxh64(std::as_bytes(std::span(logits)));
    SKALD_ASSIGN(const auto next, skald::Sample(logits, settings, {}, cache.size()));
    drawn.push_back(next.id);
    tokens.assign({next.id});
  }
  std::cout << Config::kName << ": logits " << std::hex << hash << ", ids "
            << skald::Xxh64(std::as_bytes(std::span(drawn))) << std::dec << std::endl;
  return {};
}

skald::Result<void> PrintLoaded(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  return Print(model);
}

int main(int argc, char** argv) {
  auto done = Print(skald::Model<Hybrid>(skald::RandomWeights<Hybrid>(/*seed=*/1)));
  if (done && argc > 1) done = PrintLoaded(argv[1]);
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
