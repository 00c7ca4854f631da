// SPDX-License-Identifier: Apache-2.0
//
// config.json of LFM2: the spellings of its versions, and what cannot be.

#include "skald/families/lfm2/detail/lfm2.h"

#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/check_error.h"
#include "tests/support/golden_lfm2.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace lfm2_test {

using nlohmann::json;
using testing::config_json::With;

json Golden(const std::string& file, const std::string& folder = "lfm2") {
  const auto text = ReadSmallFile(GoldenPath(folder + "/" + file), kMaxConfigJson);
  REQUIRE(text);
  return json::parse(*text);
}

void CheckIs(const json& config, const Lfm2Sizes& sizes, const std::string& model_type = "lfm2") {
  const auto model = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->model_type == model_type);
  CHECK(model->spec == Lfm2Spec(sizes));
}

TEST_CASE("config.json of LFM2 is read as versions 4 and 5 of transformers write it") {
  CheckIs(Golden("config.json"), kGoldenLfm2);
  CheckIs(Golden("config.transformers-v5.json"), kGoldenLfm2);
}

TEST_CASE("what a config.json of LFM2 says counts") {
  const json config = Golden("config.json");
  Lfm2Sizes sizes = kGoldenLfm2;
  sizes.conv_width = 4, sizes.conv_bias = true, sizes.norm_epsilon = 1e-6f, sizes.tied_embeddings = false;
  CheckIs(With(config, {{"conv_L_cache", 4}, {"conv_bias", true}, {"norm_eps", 1e-6}, {"tie_embedding", false}}),
          sizes);
  sizes = kGoldenLfm2, sizes.rope.base = 5000.0;
  CheckIs(With(config, {{"rope_theta", nullptr}, {"theta", 5000.0}}), sizes);
  sizes = kGoldenLfm2, sizes.attention_layers = {0};
  const json types = {"full_attention", "conv", "conv", "conv", "conv"};
  CheckIs(With(config, {{"layer_types", types}}), sizes);
  sizes.attention_layers = {0, 1, 2, 3, 4};
  CheckIs(With(config, {{"full_attn_idxs", nullptr}}), sizes);
}

TEST_CASE("the width of LFM2's feed-forward layers") {
  const json config = Golden("config.json");
  const auto check = [&](const json& changes, int width) {
    Lfm2Sizes sizes = kGoldenLfm2;
    sizes.feed_forward_dim = width;
    CheckIs(With(config, changes), sizes);
  };
  check({{"block_auto_adjust_ff_dim", false}}, 100);
  check({{"block_ff_dim", nullptr}, {"intermediate_size", 200}}, 144);  // 133 rounded up to a multiple of 12
  check({{"block_multiple_of", 1}}, 66);
  check({{"block_multiple_of", 1}, {"block_ffn_dim_multiplier", 1.5}}, 99);
}

TEST_CASE("config.json of LFM2 with experts") {
  const json config = Golden("config.json", "lfm2_moe");
  CheckIs(config, GoldenLfm2Moe(), "lfm2_moe");
  CheckIs(Golden("config.transformers-v5.json", "lfm2_moe"), GoldenLfm2Moe(), "lfm2_moe");
  Lfm2Sizes sizes = GoldenLfm2Moe();
  sizes.dense_layers = 0, sizes.experts.selection_bias = false, sizes.experts.weight_scale = 1.5f;
  sizes.experts.normalized = false, sizes.experts.sum_epsilon = 0.0f;
  CheckIs(With(config, {{"num_dense_layers", 0},
                        {"use_expert_bias", false},
                        {"routed_scaling_factor", 1.5},
                        {"norm_topk_prob", false}}),
          sizes, "lfm2_moe");
  const auto check = [&](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
  };
  check({{"num_experts_per_tok", 9}}, ErrorCode::kDataLoss,
        "num_experts_per_tok must be a whole number from 1 to 8, but is 9");
  check({{"num_dense_layers", 6}}, ErrorCode::kDataLoss,
        "num_dense_layers must be a whole number from 0 to 5, but is 6");
  check({{"moe_intermediate_size", nullptr}}, ErrorCode::kNotFound, "moe_intermediate_size is missing or null");
}

TEST_CASE("a config.json of LFM2 that cannot be is refused with a sentence") {
  const json config = Golden("config.json");
  const auto check = [&](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
  };
  check({{"full_attn_idxs", {2, 5}}}, ErrorCode::kDataLoss,
        "full_attn_idxs must be an array of whole numbers from 0 to num_hidden_layers - 1, but is 5");
  check({{"full_attn_idxs", 3}}, ErrorCode::kDataLoss,
        "full_attn_idxs must be an array of whole numbers from 0 to num_hidden_layers - 1, but is 3");
  check({{"layer_types", {"conv"}}}, ErrorCode::kDataLoss,
        "layer_types must be an array of num_hidden_layers names, but is an array of 1");
  check({{"layer_types", {"conv", "conv", "mamba", "conv", "conv"}}}, ErrorCode::kUnsupported,
        "layer_types is \"mamba\"; Skald supports only \"full_attention\" and \"conv\"");
  check({{"num_attention_heads", 7}}, ErrorCode::kDataLoss,
        "num_attention_heads must be a divisor of hidden_size, but is 7");
  check({{"block_ffn_dim_multiplier", 65.0}}, ErrorCode::kDataLoss,
        "block_ffn_dim_multiplier must be at most 64, but is 65.0");
}

}  // namespace lfm2_test
}  // namespace skald::testing
