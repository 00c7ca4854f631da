// SPDX-License-Identifier: Apache-2.0
//
// Small models with random weights for tests of Forward and caches, and the one-line way to run them.

#ifndef SKALD_TESTS_SUPPORT_SMALL_MODELS_H_
#define SKALD_TESTS_SUPPORT_SMALL_MODELS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/configs/create.h"
#include "skald/configs/families/gemma3.h"
#include "skald/configs/families/llama.h"
#include "skald/model/load.h"
#include "skald/model/model.h"
#include "tests/support/own_types.h"

namespace skald::testing {

// Every optional feature at once, sizes that fill no vector evenly, and a window that ends inside blocks.
struct AllFeatures : Gemma3Family {
  static constexpr std::string_view kName = "all-features";
  static constexpr int kModelDim = 72, kFeedForwardDim = 90, kVocabSize = 150;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 24;
  static constexpr int kQueryPreScale = 20;
  static constexpr auto kLayers = RepeatLayers<4>({LayerKind::kSlidingAttention, LayerKind::kFullAttention});
  static constexpr int kWindow = 40;
  static constexpr float kAttentionSoftcap = 20.0f, kFinalSoftcap = 15.0f;
  static constexpr bool kQKVBias = true;
};

// Every kind of layer but kMamba2 in one model, with sizes that fill no vector evenly.
struct Hybrid : LlamaFamily {
  static constexpr std::string_view kName = "hybrid";
  static constexpr int kModelDim = 72, kFeedForwardDim = 50, kVocabSize = 150;
  static constexpr int kHeads = 4, kKVHeads = 1, kHeadDim = 24, kRotaryDim = 12;
  static constexpr auto kLayers =
      RepeatLayers<5>({LayerKind::kRgLru, LayerKind::kSlidingAttention, LayerKind::kMamba, LayerKind::kFullAttention});
  static constexpr int kWindow = 40;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr int kConvWidth = 4, kLruWidth = 60, kLruBlocks = 3;
  static constexpr int kInnerDim = 84, kStateDim = 6, kTimeStepRank = 5;
  static constexpr bool kTiedEmbeddings = true;
};

// Recurrence alone, in the grouped form, without feed-forward blocks.
struct SmallMamba2 {
  static constexpr std::string_view kName = "small-mamba2";
  static constexpr int kModelDim = 48, kVocabSize = 100;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba2});
  static constexpr int kConvWidth = 3, kSsmHeads = 4, kSsmHeadDim = 20, kStateDim = 10, kSsmGroups = 2;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = true;
};

// LayerNorm, feed-forward layers without a gate, and a bias wherever one can be.
struct AllBiases : LlamaFamily {
  static constexpr std::string_view kName = "all-biases";
  static constexpr int kModelDim = 60, kVocabSize = 110;
  static constexpr int kHeads = 3, kKVHeads = 3, kHeadDim = 20;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr FeedForward kFeedForward = {.width = 90, .activation = Activation::kReluSquared, .bias = true};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kQKNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

// Experts, a dense layer, experts.
struct Mixture : LlamaFamily {
  static constexpr std::string_view kName = "mixture";
  static constexpr int kModelDim = 52, kFeedForwardDim = 70, kVocabSize = 90;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr MixtureOfExperts kFeedForward = {.experts = 7, .chosen = 3, .width = 32};
  static constexpr std::array kDenseLayers = {1};
  static constexpr bool kTiedEmbeddings = true;
};

// For TEST_CASE_TEMPLATE: a model of each kind of cache, norm and feed-forward layer, types of a user's own among them.
#define SKALD_SMALL_MODELS AllFeatures, Hybrid, SmallMamba2, AllBiases, Mixture, OwnTypes

// No optional feature, and one layer: its keys and values depend on nothing but their own token.
struct OneLayer : LlamaFamily {
  static constexpr std::string_view kName = "one-layer";
  static constexpr int kModelDim = 64, kFeedForwardDim = 96, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 4, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

// Tokens from a seed.
template <class C>
std::vector<int32_t> RandomTokens(uint64_t seed, size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] =
        static_cast<int32_t>((internal::UniformAt(seed, i) + 1.0f) * 0.499f * static_cast<float>(C::kVocabSize));
  }
  return tokens;
}

// Appends tokens in runs of `chunk` and returns the logits of every one of them, one after the other.
template <class C>
std::vector<float> AllLogits(const Model<C>& model, KVCache& cache, std::span<const int32_t> tokens, size_t chunk,
                             Workspace& workspace, const ForwardOptions& options = {}) {
  std::vector<float> all;
  for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const auto run = tokens.subspan(begin, std::min(chunk, tokens.size() - begin));
    const std::vector<Want> wants(run.size(), Want::kLogits);
    const auto outputs = model.Forward(Batch().Add(cache, run, wants), workspace, options);
    REQUIRE(outputs);
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  }
  return all;
}

// The same from an empty cache made for `runtime`, in one run.
template <class C>
std::vector<float> AllLogits(const Model<C>& model, std::span<const int32_t> tokens, const RuntimeConfig& runtime = {},
                             const ForwardOptions& options = {}, uint32_t threads = 1) {
  KVCache cache = *CreateKVCache<C>(runtime);
  Workspace workspace = *CreateWorkspace({.threads = threads});
  return AllLogits(model, cache, tokens, tokens.size(), workspace, options);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SMALL_MODELS_H_
