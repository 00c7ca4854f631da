// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config/differences.h"

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/published.h"
#include "tests/configs/config_json_writer.h"
#include "tests/support/config_list.h"
#include "tests/support/golden_configs.h"

namespace skald {
namespace differences_test {

using testing::Differences;
using Texts = std::vector<std::string>;

TEST_CASE("an architecture does not differ from itself") {
  CHECK(Differences(ShortFormOf<Gemma3_27B>(), ShortFormOf<Gemma3_27B>()).empty());
}

TEST_CASE("differences are listed with both values, in the order of importance") {
  CHECK(Differences(ShortFormOf<Mistral_7B_V0_1>(), ShortFormOf<Mistral_7B_V0_3>()) ==
        Texts{"vocab_size (32000, expected 32768)", "layer_types (sliding_attention x1, expected full_attention x1)",
              "sliding_window (4096, expected 0)", "rope_theta (10000, expected 1000000)"});
}

TEST_CASE("layers are told by the shortest pattern that repeats to them") {
  ShortForm a = ShortFormOf<Gemma3_1B>(), b = a;
  b.layers[24] = LayerKind::kFullAttention;
  const Texts differences = Differences(b, a);
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].find(", expected sliding_attention x5, full_attention x1)") != std::string::npos);

  a.layers.assign(4, LayerKind::kSlidingAttention);
  b.layers.assign(5, LayerKind::kSlidingAttention);
  CHECK(Differences(a, b) == Texts{"num_hidden_layers (4, expected 5)"});
}

TEST_CASE("numbers are told apart to the last bit and written as people write them") {
  ShortForm a = ShortFormOf<Llama2_7B>(), b = a;
  a.norm_epsilon = 1e-6f;
  a.rope.base = 10000.5;
  CHECK(Differences(a, b) == Texts{"rope_theta (10000.5, expected 10000)", "rms_norm_eps (1e-06, expected 1e-05)"});

  a = b;
  a.rope.base = std::nextafter(b.rope.base, 0.0);
  CHECK(Differences(a, b).size() == 1);
}

TEST_CASE("every number of a RoPE is compared, in full layers and in sliding ones") {
  const ShortForm a = ShortFormOf<testing::GoldenLlama>();
  double RopeSpec::*const members[] = {&RopeSpec::base, &RopeSpec::factor, &RopeSpec::low_frequency_factor,
                                       &RopeSpec::high_frequency_factor, &RopeSpec::original_context};
  for (double RopeSpec::*const member : members) {
    ShortForm b = a;
    b.rope.*member += 0.25;
    CHECK(Differences(a, b).size() == 1);

    ShortForm c = ShortFormOf<Gemma3_4B>();
    c.sliding_rope = a.rope;
    ShortForm d = c;
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
  const ShortForm full = ShortFormOf<AllFull>();
  for (const Block& block : Expand(full).blocks) {
    if (const auto* layer = block.layers[0].As<Attention>()) CHECK(layer->rope.base == 1000000.0);
  }
  for (const Block& block : SpecOf<AllSliding>().blocks) {
    if (const auto* layer = block.layers[0].As<Attention>()) CHECK(layer->rope.base == 10000.0);
  }

  ShortForm by_hand = full;
  by_hand.window = 99;
  by_hand.sliding_rope = RopeSpec{};
  by_hand.rope.original_context = 7.0;
  CHECK(Differences(by_hand, full).empty());
  CHECK(Fingerprint(Expand(by_hand)) == Fingerprint(Expand(full)));

  ShortForm linear = full, other = full;
  linear.rope = {.base = 10.0, .scaling = RopeScaling::kLinear, .factor = 2.0};
  other.rope = {.base = 10.0, .scaling = RopeScaling::kLinear, .factor = 2.0, .low_frequency_factor = 3.0};
  CHECK(Differences(linear, other).empty());
}

TEST_CASE("blocks of one model may differ in every size") {
  ModelSpec spec = SpecOf<Llama2_7B>();
  const ModelSpec uniform = spec;
  spec.blocks[0].layers[0] =
      Attention{.heads = 8, .kv_heads = 8, .head_dim = 64, .rotary_dim = 64, .query_pre_scale = 64};
  CHECK(WhyImpossible(spec) == nullptr);
  CHECK(Fingerprint(spec) != Fingerprint(uniform));
  CHECK(LayoutOf(spec).groups().size() == 2);
  const Texts differences = Differences(spec, uniform);
  REQUIRE(differences.size() > 1);
  CHECK(differences[0] == "num_attention_heads (8 x1, 32 x31, expected 32)");
}

TEST_CASE("no two published Configs describe the same architecture") {
  const std::vector<NamedSpec> all = PublishedModels();
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) CHECK_FALSE(skald::Differences(all[i].spec, all[j].spec).empty());
  }
}

}  // namespace differences_test
}  // namespace skald
