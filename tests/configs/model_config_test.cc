// SPDX-License-Identifier: Apache-2.0

#include "skald/configs/model_config.h"

#include <array>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/configs/published.h"
#include "skald/configs/recurrence.h"

namespace skald {
namespace {

// All that a Config must say, with no family behind it.
struct Plain {
  static constexpr std::string_view kName = "plain";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {};
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr Activation kActivation = Activation::kGeluErf;
  static constexpr bool kTiedEmbeddings = true;
};

struct WithoutHeads {
  static constexpr std::string_view kName = "headless";
};

static_assert(ModelConfig<Plain>);
static_assert(!ModelConfig<WithoutHeads>);
static_assert(!ModelConfig<LlamaFamily>, "a family lacks the sizes");

TEST_CASE("what a Config does not mention is off") {
  static_assert(WindowOf<Plain>() == 0);
  static_assert(RopeOf<Plain>(LayerKind::kSlidingAttention) == Plain::kRope);
  static_assert(AttentionSoftcapOf<Plain>() == 0.0f && FinalSoftcapOf<Plain>() == 0.0f);
  static_assert(!HasQKVBias<Plain>() && !HasQKNorm<Plain>() && !HasPostNorms<Plain>());
  static_assert(!HasUnitOffsetNorms<Plain>() && !HasScaledEmbeddings<Plain>());
  static_assert(HasLayerKind<Plain>(LayerKind::kFullAttention));
  static_assert(!HasLayerKind<Plain>(LayerKind::kSlidingAttention));
  CHECK(QueryScaleOf<Plain>() == 0.25f);
}

TEST_CASE("what a Config mentions is read") {
  static_assert(WindowOf<Gemma2_27B>() == 4096);
  static_assert(AttentionSoftcapOf<Gemma2_27B>() == 50.0f && FinalSoftcapOf<Gemma2_27B>() == 30.0f);
  static_assert(HasPostNorms<Gemma2_27B>() && HasUnitOffsetNorms<Gemma2_27B>());
  static_assert(HasScaledEmbeddings<Gemma2_27B>() && HasQKVBias<Qwen2_5_0_5B>() && HasQKNorm<Qwen3_0_6B>());
  static_assert(RopeOf<Gemma3_4B>(LayerKind::kSlidingAttention).base == 10000.0);
  static_assert(RopeOf<Gemma3_4B>(LayerKind::kFullAttention).factor == 8.0);
  CHECK(QueryScaleOf<Gemma2_27B>() == 1.0f / 12.0f);
}

TEST_CASE("a Config without attention or without feed-forward blocks has no such sizes") {
  static_assert(!HasAttention<Mamba_130M>() && HasRecurrence<Mamba_130M>() && !HasRecurrence<Plain>());
  static_assert(FeedForwardDimOf<Mamba_130M>() == 0 && HeadsOf<Mamba_130M>() == 0);
  static_assert(HeadDimOf<Mamba_130M>() == 0 && RotaryDimOf<Mamba_130M>() == 0 && ConvWidthOf<Plain>() == 0);
  static_assert(HasAttention<RecurrentGemma_2B>() && HasRecurrence<RecurrentGemma_2B>());
  static_assert(RotaryDimOf<RecurrentGemma_2B>() == 128 && RotaryDimOf<Plain>() == 16);
  static_assert(WindowOf<RecurrentGemma_9B>() == 2049);
  static_assert(HasFeedForwardBias<RecurrentGemma_2B>() && HasAttentionOutputBias<RecurrentGemma_2B>());
  static_assert(HasRoundedEmbeddingScale<RecurrentGemma_2B>() && !HasRoundedEmbeddingScale<Gemma_2B>());
}

struct Clamped : Mamba2_130M {
  static constexpr std::array kTimeStepLimit = {0.001f, 0.5f};
};

TEST_CASE("the sizes of recurrent layers follow from the Config") {
  constexpr Recurrences kGriffin = RecurrencesOf<RecurrentGemma_2B>();
  static_assert(kGriffin.rg_lru.conv_channels() == 2560 && kGriffin.rg_lru.projected_dim() == 5120);
  static_assert(kGriffin.mamba == RecurrenceSpec{} && kGriffin.mamba2 == RecurrenceSpec{});
  constexpr RecurrenceSpec kMamba = RecurrencesOf<Mamba_130M>().Of(LayerKind::kMamba);
  static_assert(kMamba.projected_dim() == 3072 && kMamba.state_floats() == 1536 * 16);
  constexpr RecurrenceSpec kMamba2 = RecurrencesOf<Mamba2_130M>().Of(LayerKind::kMamba2);
  static_assert(kMamba2.width == 1536 && kMamba2.conv_channels() == 1792 && kMamba2.projected_dim() == 3352);
  static_assert(kMamba2.conv_floats() == 3 * 1792);
  constexpr RecurrenceSpec kClamped = RecurrencesOf<Clamped>().mamba2;
  static_assert(CheckConfig<Clamped>() && kClamped.time_step_min == 0.001f && kClamped.time_step_max == 0.5f);
}

template <ModelConfig... Configs>
constexpr bool CheckAll(ConfigList<Configs...>) {
  return (CheckConfig<Configs>() && ...);
}

TEST_CASE("every published Config passes the checks") { static_assert(CheckAll(PublishedConfigs{})); }

}  // namespace
}  // namespace skald
