// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config/model_config.h"

#include <array>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "tests/support/config_list.h"

namespace skald {
namespace model_config_test {

// A Config with only the required members, without a family.
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

// The only layer of type L of a Config whose layers of it are all alike, or the first.
template <Layer L, ModelConfig C>
constexpr L First() {
  for (const Block& block : SpecOf<C>().blocks) {
    if (const L* const layer = block.layers[0].As<L>()) return *layer;
  }
  return {};
}

TEST_CASE("what a Config does not mention is off") {
  constexpr Attention kAttention = First<Attention, Plain>();
  static_assert(kAttention.window == 0 && kAttention.rope == Plain::kRope && kAttention.softcap == 0.0f);
  static_assert(!kAttention.qkv_bias && !kAttention.output_bias && !kAttention.head_norm);
  static_assert(kAttention.query_pre_scale == 16.0 && kAttention.rotary_dim == 16);
  static_assert(SpecOf<Plain>().final_softcap == 0.0f && SpecOf<Plain>().embedding_scale == EmbeddingScale::kNone);
  static_assert(!SpecOf<Plain>().blocks[0].post_norm && !SpecOf<Plain>().final_norm.As<RmsNorm>()->unit_offset);
  static_assert(HasLayerKind<Plain>(LayerKind::kFullAttention));
  static_assert(!HasLayerKind<Plain>(LayerKind::kSlidingAttention));
}

TEST_CASE("what a Config mentions is read") {
  constexpr Attention kGemma2 = First<Attention, Gemma2_27B>();
  static_assert(kGemma2.window == 4096 && kGemma2.softcap == 50.0f && kGemma2.query_pre_scale == 144.0);
  static_assert(SpecOf<Gemma2_27B>().final_softcap == 30.0f &&
                SpecOf<Gemma2_27B>().final_norm.As<RmsNorm>()->unit_offset);
  static_assert(SpecOf<Gemma2_27B>().blocks[1].post_norm.has_value());
  static_assert(SpecOf<Gemma2_27B>().embedding_scale == EmbeddingScale::kSqrt);
  static_assert(First<Attention, Qwen2_5_0_5B>().qkv_bias && First<Attention, Qwen3_0_6B>().head_norm.has_value());
  static_assert(First<Attention, Gemma3_4B>().rope.base == 10000.0);  // the first layer slides, the sixth does not
  static_assert(SpecOf<Gemma3_4B>().blocks[10].layers[0].As<Attention>()->rope.factor == 8.0);
}

TEST_CASE("a Config without attention or without feed-forward blocks has no such layers") {
  static_assert(SpecOf<Mamba_130M>().blocks.size() == 24 && First<Mamba, Mamba_130M>().inner_dim == 1536);
  static_assert(SpecOf<RecurrentGemma_2B>().blocks.size() == 52);
  static_assert(First<Attention, RecurrentGemma_2B>().rotary_dim == 128);
  static_assert(First<Attention, RecurrentGemma_9B>().window == 2049 && First<RgLru, RecurrentGemma_9B>().blocks == 16);
  static_assert(First<GatedFeedForward, RecurrentGemma_2B>().bias && First<Attention, RecurrentGemma_2B>().output_bias);
  static_assert(SpecOf<RecurrentGemma_2B>().embedding_scale == EmbeddingScale::kRoundedSqrt);
  static_assert(SpecOf<Gemma_2B>().embedding_scale == EmbeddingScale::kSqrt);
}

struct Clamped : Mamba2_130M {
  static constexpr std::array kTimeStepLimit = {0.001f, 0.5f};
};

TEST_CASE("the sizes of recurrent layers follow from the Config") {
  static_assert(First<RgLru, RecurrentGemma_2B>().State().state_floats == 2560 + 3 * 2560);
  static_assert(First<Mamba, Mamba_130M>().State().state_floats == 1536 * 16 + 3 * 1536);
  static_assert(First<Mamba2, Mamba2_130M>().State().state_floats == 1536 * 128 + 3 * 1792);
  constexpr Mamba2 kClamped = First<Mamba2, Clamped>();
  static_assert(CheckConfig<Clamped>() && kClamped.time_step_min == 0.001f && kClamped.time_step_max == 0.5f);
}

// Both kinds of Mamba in one model, and more than five kinds of state in one cache.
struct ManyKinds : LlamaFamily {
  static constexpr std::string_view kName = "many-kinds";
  static constexpr int kModelDim = 64, kFeedForwardDim = 96, kVocabSize = 100;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 32, kWindow = 16;
  static constexpr RopeSpec kRope = {}, kSlidingRope = {.base = 5000.0};
  static constexpr int kConvWidth = 4, kLruWidth = 60, kLruBlocks = 3, kInnerDim = 84, kStateDim = 6, kTimeStepRank = 5;
  static constexpr int kSsmHeads = 4, kSsmHeadDim = 20, kSsmGroups = 2;
  static constexpr auto kLayers = RepeatLayers<5>({LayerKind::kRgLru, LayerKind::kMamba, LayerKind::kMamba2,
                                                   LayerKind::kFullAttention, LayerKind::kSlidingAttention});
  static constexpr bool kTiedEmbeddings = true;
};

TEST_CASE("a cache has as many groups as a model has kinds of state") {
  static_assert(CheckConfig<ManyKinds>());
  ModelSpec spec = SpecOf<ManyKinds>();
  constexpr size_t kOfInputs = 1;  // that Mamba-2 is computed again from when it goes back
  CHECK(LayoutOf(spec).groups().size() == 5 + kOfInputs);
  Attention another = *spec.blocks[6].layers[0].As<Attention>();
  for (int window = 100; window < 110; ++window) {
    another.window = window;
    spec.blocks.push_back({.number = 5, .layers = {another}});
  }
  CHECK(LayoutOf(spec).groups().size() == 15 + kOfInputs);
}

TEST_CASE("what no model can be is refused at run time with the sentence that stops a build") {
  ModelSpec spec = SpecOf<Plain>();
  CHECK(WhyImpossible(spec) == nullptr);
  Attention attention = *spec.blocks[0].layers[0].As<Attention>();
  attention.kv_heads = 3;
  spec.blocks[0].layers[0] = attention;
  CHECK(std::string(WhyImpossible(spec)) ==
        "kHeads must be a multiple of kKVHeads: each key/value head serves the same number of query heads.");
  spec.blocks.clear();
  CHECK(std::string(WhyImpossible(spec)) == "kLayers must name at least one layer.");
}

template <ModelConfig... Configs>
constexpr bool CheckAll(testing::ConfigList<Configs...>) {
  return (CheckConfig<Configs>() && ...);
}

TEST_CASE("every published Config passes the checks") { static_assert(CheckAll(testing::PublishedConfigs{})); }

}  // namespace model_config_test
}  // namespace skald
