// SPDX-License-Identifier: Apache-2.0
//
// config.json of DeepSeek-V3 and GLM-4.7-Flash: the spellings of its versions, and what cannot be.

#include "skald/families/deepseek_v3/detail/deepseek_v3.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/families/detail/parse_gguf.h"
#include "tests/configs/config_json_checks.h"
#include "tests/configs/gguf_samples.h"
#include "tests/support/check_error.h"
#include "tests/support/golden_deepseek_v3.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace deepseek_v3_test {

using nlohmann::json;
using testing::config_json::With;

json Golden(const std::string& file) {
  const auto text = ReadSmallFile(GoldenPath(file), kMaxConfigJson);
  REQUIRE(text);
  return json::parse(*text);
}

void CheckIs(const json& config, const DeepSeekV3Sizes& sizes) {
  const auto model = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->spec == DeepSeekV3Spec(sizes));
}

TEST_CASE("config.json of latent attention is read as versions 4 and 5 of transformers write it") {
  for (const char* const file : {"config.json", "config.transformers-v5.json"}) {
    CheckIs(Golden(std::string("deepseek_v3/") + file), GoldenDeepSeekV3Sizes());
    CheckIs(Golden(std::string("glm4_moe_lite/") + file), GoldenGlm4MoeLiteSizes());
  }
}

TEST_CASE("what a config.json of DeepSeek-V3 says counts") {
  const json config = Golden("deepseek_v3/config.json");
  DeepSeekV3Sizes sizes = GoldenDeepSeekV3Sizes();
  sizes.attention.query_rank = 0, sizes.norm_epsilon = 1e-5f, sizes.tied_embeddings = true;
  CheckIs(With(config, {{"q_lora_rank", nullptr}, {"rms_norm_eps", 1e-5}, {"tie_word_embeddings", true}}), sizes);
  sizes = GoldenDeepSeekV3Sizes();
  sizes.experts.normalized = false, sizes.experts.sum_epsilon = 0.0f, sizes.experts.shared_width = 40;
  CheckIs(With(config, {{"norm_topk_prob", false}, {"n_shared_experts", 2}}), sizes);
  sizes = GoldenDeepSeekV3Sizes(), sizes.dense = {false, true, false};
  CheckIs(With(config, {{"mlp_layer_types", {"sparse", "dense", "sparse"}}}), sizes);
  sizes = GoldenDeepSeekV3Sizes(), sizes.attention.mscale = 1.0f, sizes.attention.rope = {.base = 10000.0};
  CheckIs(With(config, {{"rope_scaling", nullptr}}), sizes);
}

TEST_CASE("YaRN's multipliers are those of scores and of what RoPE turns") {
  const json config = Golden("deepseek_v3/config.json");
  DeepSeekV3Sizes sizes = GoldenDeepSeekV3Sizes();
  const double of_all = 0.1 * 0.5 * std::log(40.0) + 1.0, of_turned = 0.1 * std::log(40.0) + 1.0;
  sizes.attention.mscale = static_cast<float>(of_all);
  sizes.attention.rope.attention_factor = static_cast<float>(of_turned / of_all);
  CheckIs(With(config, {{"rope_scaling", {{"mscale_all_dim", 0.5}}}}), sizes);
  sizes.attention.mscale = 1.0f, sizes.attention.rope.attention_factor = static_cast<float>(of_turned);
  CheckIs(With(config, {{"rope_scaling", {{"mscale_all_dim", nullptr}, {"mscale", nullptr}}}}), sizes);
}

TEST_CASE("a config.json of DeepSeek-V3 that cannot be is refused with a sentence") {
  const json config = Golden("deepseek_v3/config.json");
  const auto check = [&](const json& changes, ErrorCode code, const std::string& sentence) {
    CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
  };
  check({{"kv_lora_rank", nullptr}}, ErrorCode::kNotFound, "kv_lora_rank is missing or null");
  check({{"num_experts_per_tok", 13}}, ErrorCode::kDataLoss,
        "num_experts_per_tok must be a whole number from 1 to 12, but is 13");
  check({{"topk_group", 5}}, ErrorCode::kDataLoss, "topk_group must be a whole number from 1 to 4, but is 5");
  check({{"first_k_dense_replace", 4}}, ErrorCode::kDataLoss,
        "first_k_dense_replace must be a whole number from 0 to 3, but is 4");
  check({{"mlp_layer_types", {"dense"}}}, ErrorCode::kDataLoss,
        "mlp_layer_types must be an array of num_hidden_layers names, but is an array of 1");
  check({{"mlp_layer_types", {"dense", "moe", "sparse"}}}, ErrorCode::kUnsupported, "mlp_layer_types is \"moe\"");
  check({{"topk_method", "greedy"}}, ErrorCode::kUnsupported, "topk_method is \"greedy\"");
  check({{"scoring_func", "softmax"}}, ErrorCode::kUnsupported, "scoring_func is \"softmax\"");
  check({{"rope_interleave", false}}, ErrorCode::kUnsupported, "rope_interleave is false");
  check({{"attention_bias", true}}, ErrorCode::kUnsupported, "attention_bias is true");
  check({{"num_key_value_heads", 2}}, ErrorCode::kUnsupported, "num_key_value_heads is 2; Skald supports only 4");
  check({{"quantization_config", {{"quant_method", "fp8"}, {"fmt", "e5m2"}}}}, ErrorCode::kUnsupported,
        "quantization_config.fmt is \"e5m2\"");
}

TEST_CASE("sizes of latent attention that cannot be have a sentence") {
  const auto check = [](auto change, std::string_view sentence) {
    LatentAttention attention = GoldenDeepSeekV3Sizes().attention;
    CHECK(attention.WhyImpossible() == nullptr);
    change(attention);
    REQUIRE(attention.WhyImpossible() != nullptr);
    CHECK(std::string_view(attention.WhyImpossible()).starts_with(sentence));
  };
  check([](LatentAttention& a) { a.heads = 0; }, "Latent attention must have heads");
  check([](LatentAttention& a) { a.value_dim = -1; }, "Latent attention must have heads");
  check([](LatentAttention& a) { a.query_rank = -1; }, "The rank of the queries");
  check([](LatentAttention& a) { a.rope_dim = 11; }, "The rope_dim of latent attention must be even");
  check([](LatentAttention& a) { a.latent_dim = 566; }, "The latent and the rope_dim of latent attention are larger");
  check([](LatentAttention& a) { a.mscale = 0.0f; }, "The mscale of latent attention must be positive");
  check([](LatentAttention& a) { a.norm.epsilon = 0.0f; }, "kNormEpsilon must be positive");
  check([](LatentAttention& a) { a.rope.base = 1.0; }, "The base of kRope");
  check([](LatentAttention& a) { a.rope.short_factors = {1.0f}; }, "A RoPE's factors must be half as many");
}

// The original, modeling_deepseek.py, divides YaRN's factor by that of "mscale_all_dim", of which the converter makes
// the multiplier, and scales all scores by the latter.
TEST_CASE("a GGUF file without YaRN's multiplier keeps YaRN's factor, and one with it has the scores scaled instead") {
  const GgufSample sample = GgufSampleOf("deepseek2");
  for (const bool has_multiplier : {true, false}) {
    json metadata = sample.metadata;
    if (!has_multiplier) metadata.erase("deepseek2.rope.scaling.yarn_log_multiplier");
    const auto read = ParseConfigGguf(metadata, sample.facts);
    REQUIRE_MESSAGE(read.has_value(), read.error().message);
    const LatentAttention& attention = *read->front().spec.blocks[0].layers[0].As<LatentAttention>();
    const auto factor = static_cast<float>(internal::YarnAttentionFactor(attention.rope.factor));
    CHECK(attention.rope.attention_factor == (has_multiplier ? 1.0f : factor));
    CHECK((attention.mscale == 1.0f) == !has_multiplier);
  }
}

}  // namespace deepseek_v3_test
}  // namespace skald::testing
