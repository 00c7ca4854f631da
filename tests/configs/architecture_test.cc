// SPDX-License-Identifier: Apache-2.0

#include "skald/configs/architecture.h"

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/configs/published.h"
#include "tests/support/golden_configs.h"

namespace skald {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("an architecture does not differ from itself") {
  CHECK(Differences(DescribeConfig<Gemma3_27B>(), DescribeConfig<Gemma3_27B>()).empty());
}

TEST_CASE("differences are listed with both values, in the order of importance") {
  CHECK(Differences(DescribeConfig<Mistral_7B_V0_1>(), DescribeConfig<Mistral_7B_V0_3>()) ==
        Texts{"vocab_size (32000, expected 32768)",
              "layer_types (sliding_attention x1, expected full_attention x1)",
              "sliding_window (4096, expected 0)", "rope_theta (10000, expected 1000000)"});
}

TEST_CASE("layers are told by the shortest pattern that repeats to them") {
  Architecture a = DescribeConfig<Gemma3_1B>(), b = a;
  b.layers[24] = LayerKind::kFullAttention;
  const Texts differences = Differences(b, a);
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].find(", expected sliding_attention x5, full_attention x1)") != std::string::npos);

  a.layers.assign(4, LayerKind::kSlidingAttention);
  b.layers.assign(5, LayerKind::kSlidingAttention);
  CHECK(Differences(a, b) == Texts{"num_hidden_layers (4, expected 5)"});
}

TEST_CASE("numbers are told apart to the last bit and written as people write them") {
  Architecture a = DescribeConfig<Llama2_7B>(), b = a;
  a.norm_epsilon = 1e-6f;
  a.rope.base = 10000.5;
  CHECK(Differences(a, b) ==
        Texts{"rope_theta (10000.5, expected 10000)", "rms_norm_eps (1e-06, expected 1e-05)"});

  a = b;
  a.rope.base = std::nextafter(b.rope.base, 0.0);
  CHECK(Differences(a, b).size() == 1);
}

TEST_CASE("every number of a RoPE is compared, in full layers and in sliding ones") {
  const Architecture a = DescribeConfig<testing::GoldenLlama>();
  double RopeSpec::*const members[] = {&RopeSpec::base, &RopeSpec::factor, &RopeSpec::low_frequency_factor,
                                       &RopeSpec::high_frequency_factor, &RopeSpec::original_context};
  for (double RopeSpec::*const member : members) {
    Architecture b = a;
    b.rope.*member += 0.25;
    CHECK(Differences(a, b).size() == 1);

    Architecture c = DescribeConfig<Gemma3_4B>();
    c.sliding_rope = a.rope;
    Architecture d = c;
    (*d.sliding_rope).*member += 0.25;
    CHECK(Differences(c, d).size() == 1);
  }
}

// A Config that mentions what none of its layers uses.
struct AllFull : Gemma3Family {
  static constexpr std::string_view kName = "all-full";
  static constexpr int kModelDim = 32, kFeedForwardDim = 48, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
};

struct AllSliding : AllFull {
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 8;
};

TEST_CASE("what no layer uses is left out, so that equal numerics compare equal") {
  const Architecture full = DescribeConfig<AllFull>();
  CHECK_FALSE(full.sliding_rope.has_value());
  CHECK(full.rope.base == 1000000.0);

  const Architecture sliding = DescribeConfig<AllSliding>();
  CHECK_FALSE(sliding.sliding_rope.has_value());
  CHECK(sliding.rope.base == 10000.0);

  Architecture by_hand = full;
  by_hand.window = 99;
  by_hand.sliding_rope = RopeSpec{};
  by_hand.rope.factor = 5.0;
  by_hand.rope.original_context = 7.0;
  DropUnusedFields(by_hand);
  CHECK(Differences(by_hand, full).empty());

  Architecture linear = full, other = full;
  linear.rope = {.base = 10.0, .scaling = RopeScaling::kLinear, .factor = 2.0};
  other.rope = {.base = 10.0, .scaling = RopeScaling::kLinear, .factor = 2.0, .low_frequency_factor = 3.0};
  DropUnusedFields(other);
  CHECK(Differences(linear, other).empty());
}

TEST_CASE("no two published Configs describe the same architecture") {
  std::vector<Architecture> all;
  for (size_t i = 0; i < PublishedConfigs::kSize; ++i) {
    all.push_back(VisitConfig(PublishedConfigs{}, i, []<ModelConfig C>() { return DescribeConfig<C>(); }));
    for (size_t j = 0; j < i; ++j) CHECK_FALSE(Differences(all[i], all[j]).empty());
  }
}

}  // namespace
}  // namespace skald
