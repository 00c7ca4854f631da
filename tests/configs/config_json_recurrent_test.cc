// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/detail/python_json.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/config_list.h"
#include "tests/support/golden_configs.h"

namespace skald {
namespace config_json_recurrent_test {

using nlohmann::json;
using namespace testing::config_json;

TEST_CASE("RecurrentGemma may leave out what its class assumes") {
  CheckIs<RecurrentGemma_2B>(With(JsonOf<RecurrentGemma_2B>(), {{"lru_width", nullptr},
                                                                {"head_dim", nullptr},
                                                                {"block_types", nullptr},
                                                                {"attention_window_size", nullptr},
                                                                {"conv1d_width", nullptr},
                                                                {"logits_soft_cap", nullptr},
                                                                {"rope_theta", nullptr},
                                                                {"partial_rotary_factor", nullptr},
                                                                {"rms_norm_eps", nullptr},
                                                                {"tie_word_embeddings", nullptr},
                                                                {"hidden_activation", nullptr}}));
  const json all_heads = With(JsonOf<RecurrentGemma_2B>(), {{"num_key_value_heads", nullptr}});
  CHECK(Parsed(all_heads).kv_heads == 10);
}

TEST_CASE("block types repeat over the layers, wherever the pattern is cut off") {
  json config = JsonOf<RecurrentGemma_9B>();
  config["block_types"] = {"recurrent", "recurrent", "attention"};
  CheckIs<RecurrentGemma_9B>(config);
  config["block_types"] = {"recurrent"};
  const ShortForm hawk = Parsed(config);
  CHECK(hawk.layers == std::vector(38, LayerKind::kRgLru));
  for (const Block& block : Expand(hawk).blocks) CHECK(block.layers[0].As<Attention>() == nullptr);
  CHECK(hawk.rg_lru.blocks == 16);
}

TEST_CASE("version 5 moves RecurrentGemma's RoPE into an object") {
  json config = With(JsonOf<RecurrentGemma_2B>(), {{"rope_theta", nullptr}, {"partial_rotary_factor", nullptr}});
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 20000.0}, {"partial_rotary_factor", 0.25}};
  const ShortForm a = Parsed(config);
  CHECK(a.rope.base == 20000.0);
  CHECK(a.rotary_dim == 64);
}

TEST_CASE("what Skald would compute wrongly in RecurrentGemma is refused") {
  const auto check = [](const json& changes, ErrorCode code, const std::string& part) {
    CheckRefused(With(JsonOf<RecurrentGemma_2B>(), changes), code, part);
  };
  check({{"hidden_activation", "gelu"}}, ErrorCode::kUnsupported, "hidden_activation is \"gelu\"");
  check({{"rope_scaling", {{"type", "linear"}}}}, ErrorCode::kUnsupported, "rope_scaling is an object");
  check({{"rope_parameters", {{"rope_type", "yarn"}}}}, ErrorCode::kUnsupported,
        "rope_parameters.rope_type is \"yarn\"");
  check({{"block_types", {"recurrent", "mamba"}}}, ErrorCode::kUnsupported, "block_types is \"mamba\"");
  check({{"block_types", json::array()}}, ErrorCode::kDataLoss, "block_types must be an array of");
  check({{"block_types", "recurrent"}}, ErrorCode::kDataLoss, "block_types must be an array of");
  check({{"intermediate_size", 15361}}, ErrorCode::kDataLoss, "intermediate_size must be even");
  check({{"partial_rotary_factor", 1.5}}, ErrorCode::kDataLoss, "partial_rotary_factor must be at most 1");
  check({{"hidden_size", nullptr}}, ErrorCode::kNotFound, "hidden_size is missing");
}

TEST_CASE("Mamba may leave out what its class assumes, and call its rank automatic") {
  const json absent = {
      {"intermediate_size", nullptr}, {"time_step_rank", nullptr},     {"state_size", nullptr},
      {"conv_kernel", nullptr},       {"use_bias", nullptr},           {"use_conv_bias", nullptr},
      {"hidden_act", nullptr},        {"layer_norm_epsilon", nullptr}, {"tie_word_embeddings", nullptr}};
  CheckIs<Mamba_2_8B>(With(JsonOf<Mamba_2_8B>(), absent));
  CheckIs<Mamba_130M>(With(JsonOf<Mamba_130M>(), {{"time_step_rank", "auto"}, {"intermediate_size", nullptr}}));
  json odd = With(JsonOf<Mamba_130M>(), {{"time_step_rank", "auto"}, {"hidden_size", 769}});
  CHECK(Parsed(odd).mamba.time_step_rank == 49);
  odd = With(JsonOf<Mamba_130M>(), {{"intermediate_size", nullptr}, {"expand", 1.5}});
  CHECK(Parsed(odd).mamba.inner_dim == 1152);
}

TEST_CASE("Mamba-2 may leave out what its class assumes, which are not the published sizes") {
  const json absent = {{"head_dim", nullptr}, {"state_size", nullptr},      {"expand", nullptr},
                       {"rms_norm", nullptr}, {"time_step_limit", nullptr}, {"conv_kernel", nullptr}};
  CheckIs<Mamba2_2_7B>(With(JsonOf<Mamba2_2_7B>(), absent));
  const json bare = {{"model_type", "mamba2"}, {"hidden_size", 4096}, {"vocab_size", 32768}, {"num_hidden_layers", 64}};
  const ShortForm a = Parsed(bare);
  CHECK(a.mamba2 == Mamba2{.heads = 128, .head_dim = 64, .state_dim = 128, .groups = 8, .conv_width = 4});
  CHECK_FALSE(a.tied_embeddings);
}

// The text of a Mamba-2 config.json with this limit of the time step.
std::string WithLimit(const std::string& limit) {
  std::string text = With(JsonOf<Mamba2_130M>(), {{"time_step_limit", nullptr}}).dump();
  return text.insert(1, "\"time_step_limit\": " + limit + ", ");
}

TEST_CASE("the limit of the time step may be infinite in every spelling") {
  for (const char* limit : {"[0.0, Infinity]", "[0,Infinity]", R"([0.0, {"__float__": "Infinity"}])",
                            R"([{"__float__": "Infinity"}, Infinity])", "null"}) {
    CAPTURE(limit);
    CHECK(ParsedText(WithLimit(limit)).mamba2.time_step_max == std::numeric_limits<float>::infinity());
  }
  const Mamba2 layer = ParsedText(WithLimit("[0.001, 0.5]")).mamba2;
  CHECK(layer.time_step_min == 0.001f);
  CHECK(layer.time_step_max == 0.5f);
}

TEST_CASE("a limit of the time step that is none is refused") {
  for (const char* limit :
       {"[0.0]", "[0, 1, 2]", "[-Infinity, 1]", "[0, NaN]", "[1, 0.5]", "[-1, 1]", "[0, true]", "[0, \"1\"]", "7",
        R"([0, {"__float__": 1}])", R"([0, {"__float__": "inf"}])", R"([0, {"__float__": "Infinity", "x": 1}])"}) {
    CAPTURE(limit);
    const Error error = ErrorOf(WithLimit(limit));
    CHECK(error.code == ErrorCode::kDataLoss);
    CHECK_MESSAGE(error.message.find("time_step_limit must be two numbers") != std::string::npos, error.message);
  }
}

TEST_CASE("infinity is a number nowhere else, and no excuse for bad JSON") {
  const std::string rest = R"("model_type": "mamba2", "vocab_size": 9, "num_hidden_layers": 1})";
  CHECK(ErrorOf(R"({"hidden_size": Infinity, )" + rest).message ==
        "config.json: hidden_size must be a whole number from 1 to 16777216, but is \"Infinity\"");
  CHECK(ErrorOf(R"({"hidden_size": 8, "layer_norm_epsilon": NaN, )" + rest).message ==
        "config.json: layer_norm_epsilon must be a number from 1e-30 to 1e30, but is \"NaN\"");
  for (const char* value : {"--Infinity", "1Infinity", "Infinity1", "xNaN", "\"a\"NaN", "Infinit", "\"\\\"Infinity"}) {
    CAPTURE(value);
    CHECK(ErrorOf(std::string(R"({"hidden_size": )") + value + ", " + rest)
              .message.starts_with("config.json is not valid JSON"));
  }
  // Inside strings the words are only letters.
  const json words = {{"a", "Infinity"}, {"b", "\"NaN\\"}, {"-Infinity", 1}};
  json parsed;
  CHECK(internal::ParsePythonJson(words.dump(), parsed).empty());
  CHECK(parsed == words);
}

TEST_CASE("what Skald would compute wrongly in the Mamba families is refused") {
  const auto check = [](const json& config, const json& changes, ErrorCode code, const std::string& part) {
    CheckRefused(With(config, changes), code, part);
  };
  for (const json& config : {JsonOf<Mamba_130M>(), JsonOf<Mamba2_130M>()}) {
    check(config, {{"use_bias", true}}, ErrorCode::kUnsupported, "use_bias is true; Skald supports only false");
    check(config, {{"use_conv_bias", false}}, ErrorCode::kUnsupported, "use_conv_bias is false");
    check(config, {{"hidden_act", "gelu"}}, ErrorCode::kUnsupported, "hidden_act is \"gelu\"");
    check(config, {{"rms_norm", false}}, ErrorCode::kUnsupported, "rms_norm is false; Skald supports only true");
    check(config, {{"state_size", 0}}, ErrorCode::kDataLoss, "state_size must be");
    check(config, {{"hidden_size", nullptr}}, ErrorCode::kNotFound, "hidden_size is missing");
  }
  check(JsonOf<Mamba_130M>(), {{"time_step_rank", "some"}}, ErrorCode::kDataLoss, "time_step_rank must be");
  check(JsonOf<Mamba_130M>(), {{"expand", 1e6}}, ErrorCode::kDataLoss, "expand must be a factor");
  check(JsonOf<Mamba2_130M>(), {{"norm_before_gate", true}}, ErrorCode::kUnsupported, "norm_before_gate is true");
  check(JsonOf<Mamba2_130M>(), {{"num_heads", 25}}, ErrorCode::kDataLoss,
        "num_heads must be expand * hidden_size / head_dim, that is 1536 / 64, but is 25");
  check(JsonOf<Mamba2_130M>(), {{"n_groups", 5}}, ErrorCode::kDataLoss, "n_groups must be a divisor of num_heads");
}

TEST_CASE("Granite 4 may leave out what its class assumes, and what it cannot be is refused by name") {
  const json granite = JsonOf<testing::GoldenGranite4Moe>();
  CheckIs<testing::GoldenGranite4Moe>(With(granite, {{"position_embedding_type", nullptr},
                                                     {"mamba_d_head", "auto"},
                                                     {"mamba_d_conv", nullptr},
                                                     {"mamba_expand", nullptr},
                                                     {"mamba_n_groups", 1},
                                                     {"head_dim", nullptr}}));
  const ShortForm rotating = Parsed(With(granite, {{"position_embedding_type", "rope"}, {"rope_theta", 500.0}}));
  CHECK(rotating.layers[1] == LayerKind::kFullAttention);
  CHECK(rotating.rope.base == 500.0);
  CHECK(Parsed(With(granite, {{"layer_types", nullptr}})).layers == std::vector(4, LayerKind::kMamba2));
  json renamed = granite;
  for (json& type : renamed["layer_types"]) type = type == "mamba" ? "linear_attention" : "full_attention";
  CheckIs<testing::GoldenGranite4Moe>(renamed);
  CheckRefused(With(granite, {{"layer_types", {"mamba"}}}), ErrorCode::kDataLoss,
               "layer_types must be an array of num_hidden_layers names, but is an array of 1");
  CheckRefused(With(granite, {{"layer_types", json(4, "recurrent")}}), ErrorCode::kUnsupported,
               "layer_types is \"recurrent\"");
  CheckRefused(With(granite, {{"position_embedding_type", "alibi"}}), ErrorCode::kUnsupported,
               "position_embedding_type is \"alibi\"");
  CheckRefused(With(granite, {{"mamba_n_groups", 2}}), ErrorCode::kUnsupported, "mamba_n_groups is 2");
  CheckRefused(With(granite, {{"mamba_n_heads", 5}}), ErrorCode::kDataLoss, "mamba_n_heads must be");
  CheckRefused(With(granite, {{"mamba_expand", 1000}}), ErrorCode::kDataLoss, "mamba_expand must be");
  CheckRefused(With(granite, {{"mamba_proj_bias", true}}), ErrorCode::kUnsupported, "mamba_proj_bias is true");
  CheckRefused(With(granite, {{"num_experts_per_tok", 8}}), ErrorCode::kDataLoss, "num_experts_per_tok must be");
  CheckRefused(With(granite, {{"logits_scaling", 0}}), ErrorCode::kDataLoss, "logits_scaling must be");
  CheckRefused(With(granite, {{"residual_multiplier", -1}}), ErrorCode::kDataLoss, "residual_multiplier must be");
  CheckRefused(With(granite, {{"num_local_experts", nullptr}}), ErrorCode::kNotFound, "num_local_experts is missing");
}

}  // namespace config_json_recurrent_test
}  // namespace skald
