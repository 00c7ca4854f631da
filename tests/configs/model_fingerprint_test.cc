// SPDX-License-Identifier: Apache-2.0
//
// The fingerprint of a model tells apart what differs in any number, as comparing specs does, and nothing else.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/fingerprint.h"
#include "skald/families/config/differences.h"
#include "skald/families/config/model_config.h"
#include "skald/layers/model_spec.h"
#include "tests/support/config_list.h"
#include "tests/support/golden_configs.h"

namespace skald {
namespace model_fingerprint_test {

constexpr RopeSpec Llama3(double base, double factor, double low = 1.0, double high = 4.0, double context = 8192.0) {
  return {base, RopeScaling::kLlama3, factor, low, high, context};
}
constexpr RopeSpec Linear(double base, double factor) { return {base, RopeScaling::kLinear, factor}; }

// A Config with every kind of layer that can be in one, and with every option given.
struct Everything {
  static constexpr std::string_view kName = "everything", kModelType = "test";
  static constexpr int kModelDim = 32, kVocabSize = 60, kFeedForwardDim = 40;
  static constexpr std::array kLayers = {LayerKind::kFullAttention, LayerKind::kSlidingAttention, LayerKind::kRgLru,
                                         LayerKind::kMamba2};
  static constexpr float kNormEpsilon = 1e-5f, kFinalSoftcap = 30.0f, kAttentionSoftcap = 50.0f;
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16, kRotaryDim = 8, kWindow = 20;
  static constexpr RopeSpec kRope = Llama3(10000.0, 8.0);
  static constexpr RopeSpec kSlidingRope = Linear(500.0, 2.0);
  static constexpr double kQueryPreScale = 24.0;
  static constexpr int kConvWidth = 4, kLruWidth = 24, kLruBlocks = 2;
  static constexpr int kSsmHeads = 4, kSsmHeadDim = 8, kStateDim = 16, kSsmGroups = 2;
  static constexpr std::array kTimeStepLimit = {0.0f, 1.0f};
  static constexpr bool kTiedEmbeddings = true, kQKVBias = false, kAttentionOutputBias = false;
  static constexpr bool kFeedForwardBias = false, kQKNorm = false, kPostNorms = false, kUnitOffsetNorms = false;
  static constexpr bool kScaleEmbeddings = false, kRoundEmbeddingScale = false;
};

// Each differs from Everything in one fact.
// clang-format off
struct V01 : Everything { static constexpr int kModelDim = 64; };
struct V02 : Everything { static constexpr int kVocabSize = 61; };
struct V03 : Everything { static constexpr int kFeedForwardDim = 41; };
struct V04 : Everything {
  static constexpr std::array kLayers = {LayerKind::kSlidingAttention, LayerKind::kFullAttention, LayerKind::kRgLru,
                                         LayerKind::kMamba2};
};
struct V05 : Everything { static constexpr float kNormEpsilon = 1e-6f; };
struct V06 : Everything { static constexpr float kFinalSoftcap = 0.0f; };
struct V07 : Everything { static constexpr float kAttentionSoftcap = 51.0f; };
struct V08 : Everything { static constexpr Activation kActivation = Activation::kGeluErf; };
struct V09 : Everything { static constexpr int kHeads = 4; };
struct V10 : Everything { static constexpr int kKVHeads = 2; };
struct V11 : Everything { static constexpr int kHeadDim = 18; };
struct V12 : Everything { static constexpr int kRotaryDim = 10; };
struct V13 : Everything { static constexpr int kWindow = 21; };
struct V14 : Everything { static constexpr RopeSpec kRope = Llama3(10001.0, 8.0); };
struct V15 : Everything { static constexpr RopeSpec kRope = Linear(10000.0, 8.0); };
struct V16 : Everything { static constexpr RopeSpec kRope = Llama3(10000.0, 9.0); };
struct V17 : Everything { static constexpr RopeSpec kRope = Llama3(10000.0, 8.0, 2.0); };
struct V18 : Everything { static constexpr RopeSpec kRope = Llama3(10000.0, 8.0, 1.0, 5.0); };
struct V19 : Everything { static constexpr RopeSpec kRope = Llama3(10000.0, 8.0, 1.0, 4.0, 9.0); };
struct V20 : Everything { static constexpr RopeSpec kSlidingRope = Linear(501.0, 2.0); };
struct V21 : Everything { static constexpr RopeSpec kSlidingRope = Linear(500.0, 3.0); };
struct V22 : Everything { static constexpr RopeSpec kSlidingRope = kRope; };
struct V23 : Everything { static constexpr double kQueryPreScale = 25.0; };
struct V24 : Everything { static constexpr int kConvWidth = 5; };
struct V25 : Everything { static constexpr int kLruWidth = 26; };
struct V26 : Everything { static constexpr int kLruBlocks = 3; };
struct V27 : Everything { static constexpr int kSsmHeads = 6; };
struct V28 : Everything { static constexpr int kSsmHeadDim = 9; };
struct V29 : Everything { static constexpr int kStateDim = 17; };
struct V30 : Everything { static constexpr int kSsmGroups = 4; };
struct V31 : Everything { static constexpr std::array kTimeStepLimit = {0.5f, 1.0f}; };
struct V32 : Everything { static constexpr std::array kTimeStepLimit = {0.0f, 2.0f}; };
struct V33 : Everything { static constexpr bool kTiedEmbeddings = false; };
struct V34 : Everything { static constexpr bool kQKVBias = true; };
struct V35 : Everything { static constexpr bool kAttentionOutputBias = true; };
struct V36 : Everything { static constexpr bool kFeedForwardBias = true; };
struct V37 : Everything { static constexpr bool kQKNorm = true; };
struct V38 : Everything { static constexpr bool kPostNorms = true; };
struct V39 : Everything { static constexpr bool kUnitOffsetNorms = true; };
struct V40 : Everything { static constexpr bool kScaleEmbeddings = true; };
struct V41 : V40 { static constexpr bool kRoundEmbeddingScale = true; };
struct V42 : Everything { static constexpr LayerNorm kNorm = {}; };
struct V43 : Everything { static constexpr LayerNorm kNorm = {.epsilon = 1e-6f}; };
struct V44 : Everything { static constexpr LayerNorm kNorm = {.bias = false}; };
struct V45 : Everything { static constexpr LayerNorm kNorm = {.weight = false, .bias = false}; };
struct V46 : Everything { static constexpr FeedForward kFeedForward = {.width = 40}; };
struct V47 : Everything { static constexpr FeedForward kFeedForward = {.width = 41}; };
struct V48 : Everything {
  static constexpr FeedForward kFeedForward = {.width = 40, .activation = Activation::kReluSquared};
};
struct V49 : Everything { static constexpr FeedForward kFeedForward = {.width = 40, .bias = true}; };
struct V50 : Everything { static constexpr bool kQKProjectionNorm = true; };
struct V51 : Everything { static constexpr bool kPreNorms = false; };
struct V52 : Everything {
  static constexpr std::array kLayers = {LayerKind::kNopeAttention, LayerKind::kSlidingAttention, LayerKind::kRgLru,
                                         LayerKind::kMamba2};
};
struct V53 : Everything { static constexpr float kEmbeddingMultiplier = 2.0f; };
struct V54 : Everything { static constexpr float kResidualMultiplier = 2.0f; };
struct V55 : Everything { static constexpr float kLogitsScaling = 2.0f; };
struct V56 : Everything {
  static constexpr RopeSpec kRope = {.scaling = RopeScaling::kLongRope};
  static constexpr std::array kRopeFactors = {1.0f, 2.0f, 3.0f, 4.0f};
};
struct V57 : V56 { static constexpr std::array kRopeFactors = {1.0f, 2.0f, 3.0f, 5.0f}; };
struct V58 : V56 { static constexpr std::array kShortRopeFactors = {1.0f, 2.0f, 3.0f, 5.0f}; };
struct V59 : V58 { static constexpr RopeSpec kRope = {.scaling = RopeScaling::kLongRope, .original_context = 9.0}; };
struct V60 : V56 { static constexpr RopeSpec kRope = {.scaling = RopeScaling::kLongRope, .attention_factor = 2.0f}; };

// Differ in a fact that no layer uses, and in their names.
struct Unused : Everything {
  static constexpr std::string_view kName = "unused", kModelType = "other";
  static constexpr RopeSpec kSlidingRope = {500.0, RopeScaling::kLinear, 2.0, 9.0, 8.0, 7.0};
  static constexpr int kInnerDim = 9, kTimeStepRank = 9;
};
struct SameNorm : Everything { static constexpr RmsNorm kNorm = {.epsilon = kNormEpsilon}; };
struct MambaOnly {
  static constexpr std::string_view kName = "mamba", kModelType = "test";
  static constexpr int kModelDim = 32, kVocabSize = 60, kConvWidth = 4, kInnerDim = 8, kStateDim = 4, kTimeStepRank = 2;
  static constexpr std::array kLayers = {LayerKind::kMamba};
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = true;
};
struct MambaRank : MambaOnly { static constexpr int kTimeStepRank = 3; };
struct MambaUnused : MambaOnly {
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16;
  static constexpr float kAttentionSoftcap = 5.0f;
  static constexpr bool kQKNorm = true, kFeedForwardBias = true;
  static constexpr Activation kActivation = Activation::kGeluErf;
};
// clang-format on

struct Described {
  ModelSpec spec;
  uint64_t fingerprint;
};

template <ModelConfig... Configs>
std::vector<Described> Describe(testing::ConfigList<Configs...>) {
  return {{SpecOf<Configs>(), Fingerprint(SpecOf<Configs>())}...};
}

// Checks every pair.
void CheckLikeSpecs(const std::vector<Described>& all) {
  for (const Described& a : all) {
    for (const Described& b : all) {
      CHECK((a.fingerprint == b.fingerprint) == Differences(a.spec, b.spec).empty());
      CHECK((a.fingerprint == b.fingerprint) == (a.spec == b.spec));
    }
  }
}

TEST_CASE("every fact that changes a number changes the fingerprint, and no other does") {
  using Variants =
      testing::ConfigList<Everything, V01, V02, V03, V04, V05, V06, V07, V08, V09, V10, V11, V12, V13, V14, V15, V16,
                          V17, V18, V19, V20, V21, V22, V23, V24, V25, V26, V27, V28, V29, V30, V31, V32, V33, V34, V35,
                          V36, V37, V38, V39, V40, V41, V42, V43, V44, V45, V46, V47, V48, V49, V50, V51, V52, V53, V54,
                          V55, V56, V57, V58, V59, V60, Unused, MambaOnly, MambaRank, MambaUnused>;
  const std::vector<Described> all = Describe(Variants{});
  CheckLikeSpecs(all);
  for (size_t i = 1; i <= 60; ++i) {
    CAPTURE(i);
    CHECK(all[i].fingerprint != all[0].fingerprint);
  }
  // An RMSNorm, given as kNorm, is the one of kNormEpsilon.
  CHECK(Fingerprint(SpecOf<SameNorm>()) == Fingerprint(SpecOf<Everything>()));
  CHECK(Fingerprint(SpecOf<Unused>()) == Fingerprint(SpecOf<Everything>()));
  CHECK(Fingerprint(SpecOf<MambaUnused>()) == Fingerprint(SpecOf<MambaOnly>()));
  CHECK(Fingerprint(SpecOf<MambaRank>()) != Fingerprint(SpecOf<MambaOnly>()));
}

TEST_CASE("published models have the fingerprints that their specs ask for") {
  CheckLikeSpecs(Describe(testing::PublishedConfigs{}));
}

TEST_CASE("a fingerprint is the same on every machine") {
  static_assert(Fingerprint64().value() == 0xCBF29CE484222325u);
  static_assert(Fingerprint64().Add('a').value() != Fingerprint64().Add('b').value());
  static_assert(Fingerprint64().Add(1.0f).value() == Fingerprint64().Add(1.0).value());
  CHECK(Fingerprint64().Add(uint8_t{1}).value() == Fingerprint64().Add(uint64_t{1}).value());
}

}  // namespace model_fingerprint_test
}  // namespace skald
