// SPDX-License-Identifier: Apache-2.0
//
// config.json of Qwen3-Next, Qwen 3.5, Nemotron-H, Falcon-H1 and PLaMo 2: the spellings of their versions, and what
// cannot be.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/families/nemotron_h/nemotron_h.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/check_error.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace hybrids_test {

using nlohmann::json;
using testing::config_json::With;

std::string Text(const std::string& file) {
  const auto text = ReadSmallFile(GoldenPath(file), kMaxConfigJson);
  REQUIRE(text);
  return *text;
}

ModelSpec SpecOfText(const std::string& text) {
  const auto model = ParseConfigJson(text);
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(WhyImpossible(model->spec) == nullptr);
  return model->spec;
}

void CheckRefused(const json& config, const json& changes, ErrorCode code, const std::string& sentence) {
  CheckError(ParseConfigJson(With(config, changes).dump()), code, "config.json: " + sentence);
}

TEST_CASE("all spellings of a hybrid's config.json are one model") {
  const std::pair<const char*, std::vector<const char*>> families[] = {
      {"qwen3_next", {"transformers-v5"}},
      {"qwen3_5", {"transformers-v5", "multimodal"}},
      {"qwen3_5_moe", {"transformers-v5", "multimodal"}},
      {"nemotron_h", {"transformers-v5", "small_dt"}},
      {"nemotron_h_moe", {"transformers-v5"}},
      {"falcon_h1", {"transformers-v5"}}};
  for (const auto& [folder, variants] : families) {
    const ModelSpec spec = SpecOfText(Text(std::string(folder) + "/config.json"));
    for (const char* const variant : variants) {
      CAPTURE(folder);
      CAPTURE(variant);
      CHECK(SpecOfText(Text(std::string(folder) + "/config." + variant + ".json")) == spec);
    }
  }
}

TEST_CASE("what a config.json of Qwen3-Next says counts") {
  const json config = json::parse(Text("qwen3_next/config.json"));
  Qwen3NextSizes sizes = {
      .model_dim = 56, .vocab_size = 264, .layers = 4, .heads = 4, .kv_heads = 2, .head_dim = 24, .rotary_dim = 6};
  sizes.delta_net = {.key_heads = 3, .value_heads = 6, .key_dim = 12, .value_dim = 10, .conv_width = 4};
  sizes.experts = QwenExperts(8, 3, 16);
  sizes.experts.shared_width = 20;
  CHECK(SpecOfText(config.dump()) == Qwen3NextSpec(sizes));
  CHECK(SpecOfText(With(config, {{"partial_rotary_factor", nullptr}}).dump()) == Qwen3NextSpec(sizes));
  sizes.experts.normalized = false, sizes.dense_layers = {1}, sizes.feed_forward_dim = 60;
  CHECK(SpecOfText(With(config, {{"norm_topk_prob", false}, {"mlp_only_layers", {1}}}).dump()) == Qwen3NextSpec(sizes));
  sizes.attention_layers = {0, 2};
  const json types = {"full_attention", "linear_attention", "full_attention", "linear_attention"};
  const json changes = {{"norm_topk_prob", false}, {"mlp_only_layers", {1}}, {"layer_types", types}};
  CHECK(SpecOfText(With(config, changes).dump()) == Qwen3NextSpec(sizes));
}

TEST_CASE("a config.json of Qwen3-Next that cannot be is refused with a sentence") {
  const json config = json::parse(Text("qwen3_next/config.json"));
  CheckRefused(config, {{"num_experts_per_tok", 9}}, ErrorCode::kDataLoss,
               "num_experts_per_tok must be a whole number from 1 to 8, but is 9");
  CheckRefused(config, {{"linear_num_value_heads", 7}}, ErrorCode::kDataLoss,
               "linear_num_value_heads must be a multiple of linear_num_key_heads, but is 7");
  CheckRefused(config, {{"layer_types", {"full_attention"}}}, ErrorCode::kDataLoss,
               "layer_types must be an array of num_hidden_layers names, but is an array of 1");
  CheckRefused(config, {{"layer_types", {"conv", "conv", "conv", "conv"}}}, ErrorCode::kUnsupported,
               "layer_types is \"conv\"; Skald supports only \"full_attention\" and \"linear_attention\"");
  CheckRefused(config, {{"attn_output_gate", false}}, ErrorCode::kUnsupported,
               "attn_output_gate is false; Skald supports only true");
  CheckRefused(config, {{"shared_expert_intermediate_size", nullptr}}, ErrorCode::kNotFound,
               "shared_expert_intermediate_size is missing or null");
}

TEST_CASE("a multimodal config.json says outside what it does not say inside") {
  json config = json::parse(Text("qwen3_5/config.multimodal.json"));
  config["text_config"].erase("tie_word_embeddings");
  for (const bool tied : {false, true}) {
    config["tie_word_embeddings"] = tied;
    CHECK(SpecOfText(config.dump()).tied_embeddings == tied);
  }
  CheckRefused(config, {{"text_config", nullptr}}, ErrorCode::kNotFound, "text_config is missing or null");
}

TEST_CASE("a config.json of Nemotron-H that cannot be is refused with a sentence") {
  const json config = json::parse(Text("nemotron_h_moe/config.json"));
  CheckRefused(config, {{"hybrid_override_pattern", "MEM*"}}, ErrorCode::kDataLoss,
               "hybrid_override_pattern must be a letter for each of num_hidden_layers layers, but is MEM*");
  CheckRefused(config, {{"hybrid_override_pattern", "MEM*X"}}, ErrorCode::kUnsupported,
               "hybrid_override_pattern is \"MEM*X\"; Skald supports only \"M\", \"*\", \"-\" and \"E\"");
  CheckRefused(config, {{"layers_block_type", {"mamba", "conv"}}}, ErrorCode::kUnsupported,
               "layers_block_type is \"conv\"; Skald supports only \"mamba\", \"attention\", \"mlp\" and \"moe\"");
  CheckRefused(config, {{"topk_group", 2}}, ErrorCode::kDataLoss,
               "topk_group must be a whole number from 1 to 1, but is 2");
  CheckRefused(config, {{"mamba_num_heads", 7}}, ErrorCode::kDataLoss,
               "n_groups must be a divisor of mamba_num_heads, but is 2");
  CheckRefused(config, {{"mlp_hidden_act", "silu"}}, ErrorCode::kUnsupported,
               "mlp_hidden_act is \"silu\"; Skald supports only \"relu2\"");
}

TEST_CASE("a latent space and groups of experts of Nemotron-H are read") {
  const json config = json::parse(Text("nemotron_h_moe/config.json"));
  const ModelSpec spec = SpecOfText(
      With(config, {{"moe_latent_size", 30}, {"n_group", 4}, {"topk_group", 2}, {"norm_topk_prob", false}}).dump());
  const auto* const experts = spec.blocks[1].layers[0].As<MixtureOfExperts>();
  REQUIRE(experts != nullptr);
  CHECK(experts->latent_dim == 30);
  CHECK(experts->groups == 4);
  CHECK(experts->chosen_groups == 2);
  CHECK(experts->sum_epsilon == 0.0f);
}

TEST_CASE("a config.json of Falcon-H1 that cannot be is refused with a sentence") {
  const json config = json::parse(Text("falcon_h1/config.json"));
  CheckRefused(config, {{"ssm_multipliers", {1.0, 2.0}}}, ErrorCode::kDataLoss,
               "ssm_multipliers must be an array of 5 numbers from 1e-30 to 1e30, but is an array of 2");
  CheckRefused(config, {{"mamba_n_heads", 5}}, ErrorCode::kDataLoss,
               "mamba_n_heads must be mamba_d_ssm / mamba_d_head, that is 96 / 16, but is 5");
  CheckRefused(config, {{"mamba_norm_before_gate", true}}, ErrorCode::kUnsupported,
               "mamba_norm_before_gate is true; Skald supports only false");
  CheckRefused(config, {{"key_multiplier", 0.0}}, ErrorCode::kDataLoss,
               "key_multiplier must be a number from 1e-30 to 1e30, but is 0.0");
}

TEST_CASE("a config.json of PLaMo 2 with another base of RoPE, of all layers or of those with a window, is refused") {
  const json config = json::parse(Text("plamo2/config.json"));
  const ModelSpec spec = SpecOfText(config.dump());
  for (const std::string field : {"rope_theta", "rope_local_theta"}) {
    CHECK(SpecOfText(With(config, {{field, 10000.0}}).dump()) == spec);
    CheckRefused(config, {{field, 1000000}}, ErrorCode::kUnsupported, field + " is 1000000; Skald supports only 10000");
  }
}

}  // namespace hybrids_test
}  // namespace skald::testing
