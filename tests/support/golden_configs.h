// SPDX-License-Identifier: Apache-2.0
//
// The Configs of the small reference models that tests load: one per family, with odd sizes that show a
// confusion of two dimensions, and stories260K, a tiny storyteller trained by Andrej Karpathy.

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_CONFIGS_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_CONFIGS_H_

#include <array>
#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/families/gemma/gemma.h"
#include "skald/families/gemma2/gemma2.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/granite4/granite4.h"
#include "skald/families/llama/llama.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/mistral/mistral.h"
#include "skald/families/mistral/mixtral.h"
#include "skald/families/olmo2/olmo2.h"
#include "skald/families/phi3/phi3.h"
#include "skald/families/qwen2/qwen2.h"
#include "skald/families/qwen3/qwen3.h"
#include "skald/families/qwen3/qwen3_moe.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"
#include "skald/families/smollm3/smollm3.h"

namespace skald::testing {

// heads * head_dim (96) differs from the model's width (64), and all three bands of RoPE scaling occur.
struct GoldenLlama : LlamaFamily {
  static constexpr std::string_view kName = "golden-llama";
  static constexpr int kModelDim = 64, kFeedForwardDim = 68, kVocabSize = 272;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 24;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 500000.0,
                                     .scaling = RopeScaling::kLlama3,
                                     .factor = 8.0,
                                     .low_frequency_factor = 1.0,
                                     .high_frequency_factor = 4.0,
                                     .original_context = 32.0};
  static constexpr bool kTiedEmbeddings = false;
};

struct GoldenMistral : MistralFamily {
  static constexpr std::string_view kName = "golden-mistral";
  static constexpr int kModelDim = 64, kFeedForwardDim = 50, kVocabSize = 264;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 24;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 8;
  static constexpr RopeSpec kRope = {.base = 10000.0};
};

struct GoldenQwen2 : Qwen2Family {
  static constexpr std::string_view kName = "golden-qwen2";
  static constexpr int kModelDim = 64, kFeedForwardDim = 76, kVocabSize = 272;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

struct GoldenQwen3 : Qwen3Family {
  static constexpr std::string_view kName = "golden-qwen3";
  static constexpr int kModelDim = 64, kFeedForwardDim = 60, kVocabSize = 264;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 24;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

// Experts, a dense layer, experts.
struct GoldenQwen3Moe : Qwen3MoeFamily {
  static constexpr std::string_view kName = "golden-qwen3-moe";
  static constexpr int kModelDim = 56, kFeedForwardDim = 72, kVocabSize = 264;
  static constexpr int kHeads = 6, kKVHeads = 2, kHeadDim = 20;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kFullAttention});
  static constexpr MixtureOfExperts kFeedForward = {.experts = 9, .chosen = 3, .width = 20};
  static constexpr std::array kDenseLayers = {1};
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = false;
};

struct GoldenQwen3MoeUnnormalized : GoldenQwen3Moe {
  static constexpr std::string_view kName = "golden-qwen3-moe-unnormalized";
  static constexpr MixtureOfExperts kFeedForward = {.experts = 9, .chosen = 3, .width = 20, .normalized = false};
};

struct GoldenMixtral : MixtralFamily {
  static constexpr std::string_view kName = "golden-mixtral";
  static constexpr int kModelDim = 60, kVocabSize = 260;
  static constexpr int kHeads = 6, kKVHeads = 2, kHeadDim = 10;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr MixtureOfExperts kFeedForward = {.experts = 8, .chosen = 2, .width = 44};
  static constexpr RopeSpec kRope = {.base = 1000000.0};
};

struct GoldenOlmo2 : Olmo2Family {
  static constexpr std::string_view kName = "golden-olmo2";
  static constexpr int kModelDim = 60, kFeedForwardDim = 76, kVocabSize = 264;
  static constexpr int kHeads = 6, kKVHeads = 6, kHeadDim = 10;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 500000.0};
};

struct GoldenSmolLM3 : SmolLM3Family {
  static constexpr std::string_view kName = "golden-smollm3";
  static constexpr int kModelDim = 60, kFeedForwardDim = 76, kVocabSize = 264;
  static constexpr int kHeads = 6, kKVHeads = 2, kHeadDim = 10;
  static constexpr auto kLayers = ThreeToOneLayers<4>();
  static constexpr RopeSpec kRope = {.base = 5000000.0};
};

struct GoldenPhi3 : Phi3Family {
  static constexpr std::string_view kName = "golden-phi3";
  static constexpr int kModelDim = 64, kFeedForwardDim = 68, kVocabSize = 256;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 15;
};

// The same weights with factors of RoPE, and as in Phi-4-mini with a part of each head rotated.
struct GoldenPhi3LongRope : GoldenPhi3 {
  static constexpr std::string_view kName = "golden-phi3-longrope";
  static constexpr RopeSpec kRope = {
      .scaling = RopeScaling::kLongRope, .original_context = 32.0, .attention_factor = 1.18321596f};  // sqrt(1 + 2 / 5)
  static constexpr std::array kRopeFactors = {1.342f, 2.042f, 2.655f, 3.286f, 3.916f, 4.715f, 5.423f, 6.014f};
  static constexpr std::array kShortRopeFactors = {1.01f, 1.414f, 1.559f, 1.69f, 1.944f, 2.266f, 2.465f, 2.669f};
};

struct GoldenPhi3Partial : GoldenPhi3 {
  static constexpr std::string_view kName = "golden-phi3-partial";
  static constexpr int kWindow = 262144, kRotaryDim = 12;
  static constexpr RopeSpec kRope = {.scaling = RopeScaling::kLongRope,
                                     .original_context = 256.0,
                                     .attention_factor = 1.17260394f};  // sqrt(1 + 3 / 8)
  static constexpr std::array kRopeFactors = {2.8135f, 4.8536f, 5.2013f, 9.159f, 9.5357f, 11.2953f};
  static constexpr std::array kShortRopeFactors = {1.1246f, 1.2113f, 1.2654f, 1.2658f, 1.2834f, 1.3378f};
};

struct GoldenGranite4 : Granite4Family {
  static constexpr std::string_view kName = "golden-granite4";
  static constexpr int kModelDim = 56, kFeedForwardDim = 52, kVocabSize = 264;
  static constexpr int kHeads = 4, kKVHeads = 4, kHeadDim = 14;
  static constexpr int kSsmHeads = 7, kSsmHeadDim = 16, kStateDim = 12, kSsmGroups = 1;
  static constexpr std::array kLayers = {LayerKind::kMamba2, LayerKind::kMamba2, LayerKind::kNopeAttention,
                                         LayerKind::kMamba2};
  static constexpr double kQueryPreScale = 1.0 / (double{0.12f} * double{0.12f});
  static constexpr float kEmbeddingMultiplier = 2.0f, kResidualMultiplier = 0.6f, kLogitsScaling = 2.0f;
};

// With experts beside the feed-forward layers.
struct GoldenGranite4Moe : GoldenGranite4 {
  static constexpr std::string_view kName = "golden-granite4-moe";
  static constexpr int kModelDim = 60, kFeedForwardDim = 28;
  static constexpr int kHeads = 6, kKVHeads = 2, kHeadDim = 10;
  static constexpr int kSsmHeads = 6, kSsmHeadDim = 20;
  static constexpr MixtureOfExperts kFeedForward = {.experts = 7, .chosen = 3, .width = 20};
  static constexpr bool kSharedFeedForward = true;
  static constexpr std::array kLayers = {LayerKind::kMamba2, LayerKind::kNopeAttention, LayerKind::kMamba2,
                                         LayerKind::kMamba2};
};

struct GoldenGemma : GemmaFamily {
  static constexpr std::string_view kName = "golden-gemma";
  static constexpr int kModelDim = 64, kFeedForwardDim = 76, kVocabSize = 288;
  static constexpr int kHeads = 4, kKVHeads = 1, kHeadDim = 24;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
};

struct GoldenGemma2 : Gemma2Family {
  static constexpr std::string_view kName = "golden-gemma2";
  static constexpr int kModelDim = 64, kFeedForwardDim = 54, kVocabSize = 264;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 20;
  static constexpr int kQueryPreScale = 40;
  static constexpr auto kLayers = AlternatingLayers<3>();
  static constexpr int kWindow = 8;
  static constexpr float kAttentionSoftcap = 6.0f, kFinalSoftcap = 10.0f;
};

struct GoldenGemma3 : Gemma3Family {
  static constexpr std::string_view kName = "golden-gemma3";
  static constexpr int kModelDim = 64, kFeedForwardDim = 42, kVocabSize = 264;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16;
  static constexpr int kQueryPreScale = 40;
  static constexpr auto kLayers = FiveToOneLayers<6>();
  static constexpr int kWindow = 8;
};

// Recurrent, recurrent, attention, recurrent.
struct GoldenRecurrentGemma : RecurrentGemmaFamily {
  static constexpr std::string_view kName = "golden-recurrent-gemma";
  static constexpr int kModelDim = 72, kFeedForwardDim = 30, kVocabSize = 256;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 24, kRotaryDim = 12;
  static constexpr int kLruWidth = 72, kLruBlocks = 3;
  static constexpr auto kLayers = TwoToOneLayers<4>();
  static constexpr int kWindow = 16 + 1;
  static constexpr float kFinalSoftcap = 12.0f;
};

struct GoldenMamba : MambaFamily {
  static constexpr std::string_view kName = "golden-mamba";
  static constexpr int kModelDim = 64, kInnerDim = 128, kTimeStepRank = 4, kVocabSize = 272;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba});
};

struct GoldenMamba2 : Mamba2Family {
  static constexpr std::string_view kName = "golden-mamba2";
  static constexpr int kModelDim = 64, kVocabSize = 272;
  static constexpr int kSsmHeads = 8, kSsmHeadDim = 16, kStateDim = 16, kSsmGroups = 1;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba2});
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_CONFIGS_H_
