// SPDX-License-Identifier: Apache-2.0
//
// Experts as config.json describes them, in families that add them to the layers of a transformer.

#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace experts_test {

using nlohmann::json;
using testing::config_json::CheckRefused;
using testing::config_json::With;

json GoldenConfig(const std::string& folder) {
  const auto text = ReadSmallFile(GoldenPath(folder + "/config.json"), 1 << 20);
  REQUIRE(text);
  return json::parse(*text);
}

TEST_CASE("gates of experts are of the activation that hidden_act names, as those of dense layers are") {
  for (const char* const folder : {"bailing_moe", "bailing_moe_softmax", "dots1", "ernie4_5_moe", "glm4_moe",
                                   "hunyuan_v1_moe", "mixtral", "olmoe", "qwen2_moe", "qwen3_moe"}) {
    CAPTURE(folder);
    const auto model = ParseConfigJson(With(GoldenConfig(folder), {{"hidden_act", "gelu"}}).dump());
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    const auto* const experts = internal::FindLayer<MixtureOfExperts>(model->spec);
    REQUIRE(experts != nullptr);
    CHECK(experts->activation == Activation::kGeluErf);
    const auto* const dense = internal::FindLayer<GatedFeedForward>(model->spec);
    if (dense != nullptr) CHECK(dense->activation == Activation::kGeluErf);
  }
}

TEST_CASE("Phi-3.5-MoE chooses two experts") {
  CheckRefused(With(GoldenConfig("phimoe"), {{"num_experts_per_tok", 3}}), ErrorCode::kUnsupported,
               "num_experts_per_tok is 3; Skald supports only 2");
}

TEST_CASE("a RoPE base that a file of Phi-3.5-MoE lacks is the one that transformers assumes") {
  json phi = GoldenConfig("phimoe");
  for (const char* const name : {"rope_theta", "rope_scaling", "rope_parameters"}) phi.erase(name);
  CHECK(config_json::Parsed(phi).rope.base == 1000000.0);
}

TEST_CASE("EXAONE 4 with a window that no layer has is refused: programs differ in which layers have a RoPE") {
  json exaone = GoldenConfig("exaone4");
  exaone["layer_types"] = json(exaone["layer_types"].size(), "full_attention");
  CheckRefused(exaone, ErrorCode::kUnsupported, "sliding_window is ");
  CHECK(ParseConfigJson(With(exaone, {{"sliding_window", nullptr}}).dump()));
}

}  // namespace experts_test
}  // namespace skald::testing
