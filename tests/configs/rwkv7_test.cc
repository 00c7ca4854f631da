// SPDX-License-Identifier: Apache-2.0
//
// config.json of RWKV-7, and models with its layers that cannot be.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/check_error.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace rwkv7_test {

using nlohmann::json;
using testing::config_json::With;

constexpr Rwkv7Sizes kGolden = {.model_dim = 128,
                                .vocab_size = 240,
                                .layers = 2,
                                .feed_forward_dim = 144,
                                .decay_rank = 12,
                                .rate_rank = 10,
                                .value_rank = 8,
                                .gate_rank = 14};

json Config() {
  const auto text = ReadSmallFile(GoldenPath("rwkv7/config.json"), kMaxConfigJson);
  REQUIRE(text);
  return json::parse(*text);
}

ModelSpec SpecWith(const json& changes) {
  const auto model = ParseConfigJson(With(Config(), changes).dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->model_type == "rwkv7");
  return model->spec;
}

TEST_CASE("what a config.json of RWKV-7 says counts") {
  CHECK(SpecWith(json::object()) == Rwkv7Spec(kGolden));
  for (const json& heads : {json(nullptr), json(2), json(7)})
    CHECK(SpecWith({{"num_heads", heads}}) == Rwkv7Spec(kGolden));
  CHECK(SpecWith({{"value_dim", nullptr}}) == Rwkv7Spec(kGolden));
  CHECK(SpecWith({{"value_dim", 128}}) == Rwkv7Spec(kGolden));
  Rwkv7Sizes sizes = kGolden;
  sizes.feed_forward_dim = 160;  // 1.125 * 128, rounded up to a multiple of 32
  CHECK(SpecWith({{"intermediate_size", nullptr}}) == Rwkv7Spec(sizes));
  sizes.feed_forward_dim = 512;
  CHECK(SpecWith({{"intermediate_size", nullptr}, {"hidden_ratio", nullptr}}) == Rwkv7Spec(sizes));
  sizes = kGolden;
  sizes.head_dim = 32, sizes.norm.epsilon = 1e-4f, sizes.head_norm_epsilon = 32e-4f;
  CHECK(SpecWith({{"head_dim", 32}, {"norm_eps", 1e-4}}) == Rwkv7Spec(sizes));
  sizes = kGolden;
  sizes.tied_embeddings = true;
  CHECK(SpecWith({{"tie_word_embeddings", true}}) == Rwkv7Spec(sizes));
}

TEST_CASE("a config.json of RWKV-7 that cannot be is refused with a sentence") {
  const auto refused = [](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(Config(), changes).dump()), code, "config.json: " + sentence);
  };
  refused({{"head_dim", 48}}, ErrorCode::kDataLoss, "head_dim must be a divisor of the model's width, but is 48");
  refused({{"decay_low_rank_dim", 0}}, ErrorCode::kDataLoss, "decay_low_rank_dim must be a whole number from 1 to ");
  refused({{"value_dim", {128, 256}}}, ErrorCode::kUnsupported,
          "value_dim is 256; Skald supports only 128, the model's width");
  refused({{"value_dim", 256}}, ErrorCode::kUnsupported, "value_dim is 256; Skald supports only 128");
  refused({{"attn", {{"layers", {0}}}}}, ErrorCode::kUnsupported, "attn is an object; Skald supports only null");
  refused({{"norm_first", false}}, ErrorCode::kUnsupported, "norm_first is false; Skald supports only true");
  refused({{"hidden_act", "silu"}}, ErrorCode::kUnsupported, "hidden_act is \"silu\"; Skald supports only \"sqrelu\"");
  refused({{"hidden_size", nullptr}}, ErrorCode::kNotFound, "hidden_size is missing or null");
}

std::string Why(const ModelSpec& spec) {
  const char* const why = WhyImpossible(spec);
  return why == nullptr ? "" : why;
}

TEST_CASE("rows that layers carry come from a layer in front, in one width, and states of inputs fit the model") {
  ModelSpec spec = Rwkv7Spec(kGolden);
  CHECK(Why(spec) == "");
  CHECK(CarriedDim(spec) == 128);
  const std::string nobody = "A layer reads rows that no layer in front of it gives, or gives in another width.";
  ModelSpec headless = spec;
  headless.blocks.erase(headless.blocks.begin(), headless.blocks.begin() + 2);
  CHECK(Why(headless) == nobody);
  const std::string other = "A layer keeps rows of its input, and was made for a model of another width.";
  ModelSpec wide = spec;
  wide.model_dim = 256;
  CHECK(Why(wide) == other);
  RwkvTimeMix narrow = *spec.blocks[2].layers[0].As<RwkvTimeMix>();
  narrow.heads = 1;
  spec.blocks[2].layers[0] = narrow;
  CHECK(Why(spec) == other);
}

TEST_CASE("sizes of RWKV-7's layers that cannot be are refused with a sentence") {
  const RwkvTimeMix mix = *Rwkv7Spec(kGolden).blocks[2].layers[0].As<RwkvTimeMix>();
  const auto why = [&](auto change) {
    RwkvTimeMix changed = mix;
    change(changed);
    return std::string(changed.WhyImpossible() == nullptr ? "" : changed.WhyImpossible());
  };
  CHECK(why([](RwkvTimeMix&) {}) == "");
  CHECK(why([](RwkvTimeMix& m) { m.heads = 0; }) == "Heads of a time mix and their size must be positive.");
  CHECK(why([](RwkvTimeMix& m) { m.head_dim = 577; }) == "A time mix has heads of at most 576 elements.");
  CHECK(why([](RwkvTimeMix& m) { m.gate_rank = 0; }) ==
        "Ranks of a time mix must be positive, but for that of values, which the first layer does without.");
  CHECK(why([](RwkvTimeMix& m) { m.norm_epsilon = 0.0f; }) == "The epsilon of a time mix's norm must be positive.");
  CHECK(RwkvChannelMix{.channels = 4}.WhyImpossible() != nullptr);
}

}  // namespace rwkv7_test
}  // namespace skald::testing
