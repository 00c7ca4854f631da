// SPDX-License-Identifier: Apache-2.0
//
// config.json of Gemma 4: the spellings of its versions, and what cannot be.

#include "skald/families/gemma4/detail/gemma4.h"

#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/families/spec_json.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/check_error.h"
#include "tests/support/golden_gemma4.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace gemma4_test {

using nlohmann::json;
using testing::config_json::With;

json Golden(const std::string& file) {
  const auto text = ReadSmallFile(GoldenPath("gemma4/" + file), kMaxConfigJson);
  REQUIRE(text);
  return json::parse(*text);
}

void CheckIs(const json& config, const Gemma4Sizes& sizes) {
  const auto model = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->model_type == "gemma4_text");
  CHECK(model->spec == Gemma4Spec(sizes));
  CHECK(WhyImpossible(model->spec) == nullptr);
}

TEST_CASE("config.json of Gemma 4 is read alone, inside that of a multimodal model and as version 5.16 writes it") {
  for (const char* const file : {"config.json", "config.multimodal.json", "config.transformers-v5.json"}) {
    CheckIs(Golden(file), GoldenGemma4());
  }
}

TEST_CASE("what a config.json of Gemma 4 says counts") {
  const json config = Golden("config.json");
  Gemma4Sizes sizes = GoldenGemma4();
  sizes.shared_layers = 0, sizes.wide_shared = false, sizes.per_layer_dim = 0, sizes.final_softcap = 0.0f;
  CheckIs(With(config, {{"num_kv_shared_layers", nullptr},
                        {"use_double_wide_mlp", nullptr},
                        {"hidden_size_per_layer_input", 0},
                        {"final_logit_softcapping", nullptr}}),
          sizes);
  sizes = GoldenGemma4(), sizes.keys_as_values = true, sizes.full_kv_heads = 4, sizes.norm_epsilon = 1e-5f;
  CheckIs(With(config, {{"attention_k_eq_v", true}, {"num_global_key_value_heads", 4}, {"rms_norm_eps", 1e-5}}), sizes);
  sizes = GoldenGemma4(), sizes.slides = {true, false, true, true, true, false};
  const json types = {"sliding_attention", "full_attention",    "sliding_attention",
                      "sliding_attention", "sliding_attention", "sliding_attention"};
  CheckIs(With(config, {{"layer_types", types}}), sizes);  // the last one is full whatever it says
  sizes = GoldenGemma4(), sizes.rope = {.base = 5e5}, sizes.sliding_rope = {.base = 2e4};
  const json full = {{"rope_type", "default"}, {"rope_theta", 5e5}, {"partial_rotary_factor", nullptr}};
  CheckIs(With(config, {{"rope_parameters", {{"full_attention", full}, {"sliding_attention", {{"rope_theta", 2e4}}}}}}),
          sizes);
}

TEST_CASE("a config.json of Gemma 4 that cannot be is refused with a sentence") {
  const json config = Golden("config.json");
  const auto check = [&](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
  };
  check({{"num_kv_shared_layers", 6}}, ErrorCode::kDataLoss,
        "num_kv_shared_layers must be a whole number from 0 to 5, but is 6");
  check({{"vocab_size_per_layer_input", 200}}, ErrorCode::kUnsupported,
        "vocab_size_per_layer_input is 200; Skald supports only 264");
  check({{"use_bidirectional_attention", "all"}}, ErrorCode::kUnsupported, "use_bidirectional_attention is \"all\"");
  check({{"rope_parameters", {{"full_attention", {{"partial_rotary_factor", 1.5}}}}}}, ErrorCode::kDataLoss,
        "rope_parameters.full_attention.partial_rotary_factor must be at most 1, but is 1.5");
  check({{"rope_parameters", {{"full_attention", {{"rope_type", "linear"}}}}}}, ErrorCode::kUnsupported,
        "rope_parameters.full_attention.rope_type is \"linear\"");
  check({{"rope_parameters", {{"sliding_attention", nullptr}}}}, ErrorCode::kNotFound,
        "rope_parameters.sliding_attention is missing");
  check({{"per_layer_config", {{"1", {{"head_dim", 20}}}}}}, ErrorCode::kUnsupported, "per_layer_config is \"1\"");
}

TEST_CASE("config.json of Gemma 4 with experts") {
  Gemma4Sizes sizes = {.model_dim = 60,
                       .vocab_size = 264,
                       .feed_forward_dim = 36,
                       .slides = Gemma4Slides(3, 6),
                       .heads = 8,
                       .kv_heads = 4,
                       .head_dim = 12,
                       .full_kv_heads = 2,
                       .full_head_dim = 20,
                       .window = 10,
                       .keys_as_values = true,
                       .experts = 7,
                       .chosen_experts = 3,
                       .expert_width = 20};
  sizes.rope.turning_pairs = 2;
  for (const char* const file : {"config.json", "config.multimodal.json", "config.transformers-v5.json"}) {
    CheckIs(Golden(std::string("../gemma4_moe/") + file), sizes);
  }
  CheckError(ParseConfigJson(With(Golden("../gemma4_moe/config.json"), {{"top_k_experts", 8}}).dump()),
             ErrorCode::kDataLoss, "config.json: top_k_experts must be a whole number from 1 to 7, but is 8");
}

TEST_CASE("layers share keys and values with earlier ones of their own form alone") {
  const auto why = [](auto change) -> std::string {
    ModelSpec spec = Gemma4Spec(GoldenGemma4());
    for (Block& block : spec.blocks) {
      const Attention* const attention = block.layers[0].As<Attention>();
      if (attention == nullptr || attention->shared_layer < 0) continue;
      Attention changed = *attention;
      change(changed);
      block.layers[0] = changed;
      break;
    }
    const char* const sentence = WhyImpossible(spec);
    return sentence == nullptr ? "" : sentence;
  };
  const std::string expected = "A layer shares keys and values with one that is not in front of it, or keeps others.";
  CHECK(why([](Attention&) {}) == "");
  CHECK(why([](Attention& a) { a.shared_layer = 0; }) == "");
  CHECK(why([](Attention& a) { a.shared_layer = 4; }) == expected);  // forward
  CHECK(why([](Attention& a) { a.shared_layer = 3; }) == expected);  // itself
  CHECK(why([](Attention& a) { a.shared_layer = 1000; }) == expected);
  CHECK(why([](Attention& a) { a.shared_layer = 2; }) == expected);  // a full layer
  CHECK(why([](Attention& a) { a.window = 8; }) == expected);
  Gemma4Sizes sizes = GoldenGemma4();
  sizes.slides = {true, true, true, true, true, false};  // no full layer before the shared ones
  CHECK(WhyImpossible(Gemma4Spec(sizes)) == expected);
}

TEST_CASE("Gemma 4 is described in packed files") {
  const ModelSpec spec = Gemma4Spec(GoldenGemma4());
  const auto text = SpecToJson(spec);
  REQUIRE(text);
  const auto read = SpecFromJson(*text);
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  CHECK(*read == spec);
}

}  // namespace gemma4_test
}  // namespace skald::testing
