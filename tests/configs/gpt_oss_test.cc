// SPDX-License-Identifier: Apache-2.0
//
// config.json of gpt-oss: the spellings of its versions, and what cannot be.

#include "skald/families/gpt_oss/detail/gpt_oss.h"

#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/check_error.h"
#include "tests/support/golden_gpt_oss.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace gpt_oss_test {

using nlohmann::json;
using testing::config_json::With;

json Golden(const std::string& file) {
  const auto text = ReadSmallFile(GoldenPath("gpt_oss/" + file), kMaxConfigJson);
  REQUIRE(text);
  return json::parse(*text);
}

void CheckIs(const json& config, const GptOssSizes& sizes) {
  const auto model = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->model_type == "gpt_oss");
  CHECK(model->spec == GptOssSpec(sizes));
}

TEST_CASE("config.json of gpt-oss is read as versions 4 and 5 of transformers write it, MXFP4 or not") {
  for (const char* const file : {"config.json", "config.transformers-v5.json", "config.mxfp4.json"}) {
    CheckIs(Golden(file), GoldenGptOss());
  }
}

TEST_CASE("what a config.json of gpt-oss says counts") {
  const json config = Golden("config.json");
  GptOssSizes sizes = GoldenGptOss();
  sizes.norm_epsilon = 1e-6f, sizes.tied_embeddings = true, sizes.window = 128;
  CheckIs(With(config, {{"rms_norm_eps", 1e-6}, {"tie_word_embeddings", true}, {"sliding_window", nullptr}}), sizes);
  sizes = GoldenGptOss(), sizes.slides = {true, true, false};
  CheckIs(With(config, {{"layer_types", {"sliding_attention", "sliding_attention", "full_attention"}}}), sizes);
  CheckIs(With(config, {{"layer_types", nullptr}}), GoldenGptOss());
  CheckIs(With(config, {{"swiglu_alpha", 1.702}}), GoldenGptOss());  // as transformers 5.24 writes it
}

TEST_CASE("what a YaRN says counts") {
  const json config = Golden("config.json");
  const auto with_rope = [&](const json& changes) { return With(config, {{"rope_scaling", changes}}); };
  GptOssSizes sizes = GoldenGptOss();
  sizes.rope.whole_ramp = true;
  CheckIs(with_rope({{"truncate", nullptr}}), sizes);
  sizes = GoldenGptOss(), sizes.rope.low_frequency_factor = 2.0, sizes.rope.high_frequency_factor = 8.0;
  CheckIs(with_rope({{"beta_slow", 2}, {"beta_fast", 8}}), sizes);
  sizes = GoldenGptOss(), sizes.rope.original_context = 8192.0;
  CheckIs(with_rope({{"original_max_position_embeddings", nullptr}}), sizes);
  sizes = GoldenGptOss(), sizes.rope.attention_factor = 1.5f;
  CheckIs(with_rope({{"attention_factor", 1.5}}), sizes);
  sizes.rope.attention_factor = 1.0f;
  CheckIs(with_rope({{"mscale", 0.7}, {"mscale_all_dim", 0.7}}), sizes);
}

TEST_CASE("a config.json of gpt-oss that cannot be is refused with a sentence") {
  const json config = Golden("config.json");
  const auto check = [&](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
  };
  const auto check_rope = [&](const json& changes, const std::string& sentence) {
    check({{"rope_scaling", changes}}, ErrorCode::kDataLoss, "rope_scaling." + sentence);
  };
  check({{"num_experts_per_tok", 7}}, ErrorCode::kDataLoss,
        "num_experts_per_tok must be a whole number from 1 to 6, but is 7");
  check({{"swiglu_limit", 6.0}}, ErrorCode::kUnsupported, "swiglu_limit is 6.0; Skald supports only 7.0");
  check({{"attention_bias", false}}, ErrorCode::kUnsupported, "attention_bias is false");
  check({{"layer_types", {"full_attention"}}}, ErrorCode::kDataLoss,
        "layer_types must be an array of num_hidden_layers names, but is an array of 1");
  check({{"layer_types", {"full_attention", "mamba", "full_attention"}}}, ErrorCode::kUnsupported,
        "layer_types is \"mamba\"");
  check_rope({{"factor", 0.5}}, "factor must be at least 1, but is 0.5");
  check_rope({{"factor", -1}}, "factor must be a number from 1e-30 to 1e30, but is -1");
  check_rope({{"beta_fast", 1.0}}, "beta_fast must be more than beta_slow, but is 1.0");
  check_rope({{"original_max_position_embeddings", 0}},
             "original_max_position_embeddings must be a whole number from 1 to 16777216, but is 0");
  check_rope({{"truncate", 3}}, "truncate must be true or false, but is 3");
}

}  // namespace gpt_oss_test
}  // namespace skald::testing
