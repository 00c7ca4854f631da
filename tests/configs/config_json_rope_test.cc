// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "doctest/doctest.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/config_list.h"

namespace skald {
namespace config_json_rope_test {

using nlohmann::json;
using namespace testing::config_json;

TEST_CASE("a RoPE base that is absent is the one that transformers assumes") {
  const json absent = {{"rope_theta", nullptr}, {"rope_local_base_freq", nullptr}};
  CHECK(Parsed(With(JsonOf<Llama2_7B>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Mistral_7B_V0_3>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Mixtral_8x7B>(), absent)).rope.base == 1000000.0);
  CHECK(Parsed(With(JsonOf<Qwen2_5_0_5B>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Qwen3_4B>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Gemma_2B>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Gemma2_2B>(), absent)).rope.base == 10000.0);
  CheckIs<Gemma3_1B>(With(JsonOf<Gemma3_1B>(), absent));
}

TEST_CASE("rope_parameters of version 5 mean what the fields of version 4 mean") {
  json llama = With(JsonOf<Llama3_2_1B>(), {{"rope_theta", nullptr}});
  llama["rope_parameters"] = llama["rope_scaling"];
  llama["rope_parameters"]["rope_theta"] = 500000.0;
  llama.erase("rope_scaling");
  CheckIs<Llama3_2_1B>(llama);

  json gemma = With(JsonOf<Gemma3_4B>(), {{"rope_theta", nullptr}, {"rope_local_base_freq", nullptr}});
  gemma["rope_parameters"]["full_attention"] = {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 1000000}};
  gemma["rope_parameters"]["sliding_attention"] = {{"rope_type", "default"}, {"rope_theta", 10000}};
  gemma.erase("rope_scaling");
  CheckIs<Gemma3_4B>(gemma);
  gemma["rope_parameters"]["full_attention"].erase("rope_theta");
  gemma["rope_parameters"]["sliding_attention"].erase("rope_theta");
  CheckIs<Gemma3_4B>(gemma);
  gemma["rope_parameters"]["sliding_attention"]["rope_theta"] = 20000.0;
  CHECK(Parsed(gemma).sliding_rope->base == 20000.0);

  json mistral = With(JsonOf<Mistral_7B_V0_1>(), {{"rope_theta", nullptr}});
  mistral["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  CheckIs<Mistral_7B_V0_1>(mistral);
}

TEST_CASE("the type of a RoPE may be named by the older field") {
  json gemma = JsonOf<Gemma3_4B>();
  gemma["rope_scaling"] = {{"type", "linear"}, {"factor", 8.0}};
  CheckIs<Gemma3_4B>(gemma);
  json llama = JsonOf<Llama2_7B>();
  llama["rope_scaling"] = {{"rope_type", "default"}, {"type", "yarn"}};  // the newer field counts
  CheckIs<Llama2_7B>(llama);
}

TEST_CASE("LongRoPE is read in all its spellings") {
  const json config = JsonOf<Phi4_Mini>(), scaling = config["rope_scaling"];
  json older = With(config, {{"original_max_position_embeddings", 4096}, {"max_position_embeddings", 131072}});
  for (const char* name : {"rope_type", "attention_factor", "original_max_position_embeddings"}) {
    older["rope_scaling"].erase(name);
  }
  for (const char* type : {"longrope", "su"}) {
    older["rope_scaling"]["type"] = type;
    CheckIs<Phi4_Mini>(older);
  }
  json newer = With(config, {{"rope_scaling", nullptr}, {"rope_theta", nullptr}, {"partial_rotary_factor", nullptr}});
  newer["rope_parameters"] = With(scaling, {{"rope_theta", 10000.0}, {"partial_rotary_factor", 0.75}});
  CheckIs<Phi4_Mini>(newer);

  const auto with = [&](const json& changes) {
    json changed = older;
    changed["rope_scaling"].merge_patch(changes);
    return changed.dump();
  };
  CheckRefused({
      {with({{"long_factor", nullptr}}), ErrorCode::kNotFound, "rope_scaling.long_factor is missing"},
      {with({{"short_factor", json(47, 1.0)}}), ErrorCode::kDataLoss,
       "rope_scaling.short_factor must be an array of 48 numbers from 1e-30 to 1e30, but is an array of 47"},
      {with({{"long_factor", json(48, 0.0)}}), ErrorCode::kDataLoss, "rope_scaling.long_factor must be"},
      {with({{"long_factor", json(48, "x")}}), ErrorCode::kDataLoss, "rope_scaling.long_factor must be"},
      {with({{"long_factor", 1.0}}), ErrorCode::kDataLoss, "rope_scaling.long_factor must be"},
      {with({{"attention_factor", -1.0}}), ErrorCode::kDataLoss, "rope_scaling.attention_factor must be"},
      {With(older, {{"original_max_position_embeddings", nullptr}}).dump(), ErrorCode::kNotFound,
       "original_max_position_embeddings is missing"},
      {With(older, {{"original_max_position_embeddings", 1}}).dump(), ErrorCode::kDataLoss,
       "original_max_position_embeddings must be at least 2"},
      {With(older, {{"max_position_embeddings", nullptr}}).dump(), ErrorCode::kNotFound,
       "max_position_embeddings is missing"},
      {With(older, {{"partial_rotary_factor", 1.5}}).dump(), ErrorCode::kDataLoss,
       "partial_rotary_factor must be at most 1"},
      {With(older, {{"partial_rotary_factor", 0.5}}).dump(), ErrorCode::kDataLoss, "must be an array of 32 numbers"},
  });
}

TEST_CASE("the context of YaRN's first training is told within its object, or beside it") {
  json llama = With(JsonOf<Llama2_7B>(), {{"max_position_embeddings", 4096}});
  llama["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
  CHECK(Parsed(llama).rope.original_context == 4096.0);
  llama["original_max_position_embeddings"] = 1024;
  CHECK(Parsed(llama).rope.original_context == 1024.0);
  llama["rope_scaling"]["original_max_position_embeddings"] = 1024;
  CHECK(Parsed(llama).rope.original_context == 1024.0);
  llama["rope_scaling"]["original_max_position_embeddings"] = 2048;
  CheckRefused(llama, ErrorCode::kUnsupported, "original_max_position_embeddings is 1024; Skald supports only 2048");
  llama.erase("original_max_position_embeddings");
  CHECK(Parsed(llama).rope.original_context == 2048.0);
}

TEST_CASE("layers without RoPE are those that no_rope_layers gives a 0, or each nth") {
  const json config = JsonOf<SmolLM3_3B>();
  CheckIs<SmolLM3_3B>(With(config, {{"no_rope_layers", nullptr}}));
  CheckIs<SmolLM3_3B>(With(config, {{"no_rope_layers", nullptr}, {"no_rope_layer_interval", 4}}));
  ShortForm every_third = ShortFormOf<SmolLM3_3B>();
  for (size_t i = 0; i < every_third.layers.size(); ++i) {
    every_third.layers[i] = i % 3 == 2 ? LayerKind::kNopeAttention : LayerKind::kFullAttention;
  }
  CheckSame(With(config, {{"no_rope_layers", nullptr}, {"no_rope_layer_interval", 3}}), every_third);
  CheckRefused({
      {With(config, {{"no_rope_layers", 1}}).dump(), ErrorCode::kDataLoss,
       "no_rope_layers must be an array of 36, one number for each layer, but is 1"},
      {With(config, {{"no_rope_layers", {1, 1, 0}}}).dump(), ErrorCode::kDataLoss, "but is an array of 3"},
      {With(config, {{"no_rope_layers", json(36, 2)}}).dump(), ErrorCode::kDataLoss,
       "no_rope_layers must be 1 for layers with RoPE and 0 for others, but is 2"},
      {With(config, {{"no_rope_layers", nullptr}, {"no_rope_layer_interval", 0}}).dump(), ErrorCode::kDataLoss,
       "no_rope_layer_interval must be"},
      {With(config, {{"use_sliding_window", true}}).dump(), ErrorCode::kUnsupported, "use_sliding_window is true"},
  });
}

TEST_CASE("RoPE types that Skald does not know, or that lack a number, are refused") {
  for (const char* type : {"ntk", "dynamic", "mrope", ""}) {
    const std::string is = "rope_scaling.rope_type is \"" + std::string(type) + "\"";
    CheckRefused(
        {{Changed("rope_scaling", {{"rope_type", type}, {"factor", 4.0}}), ErrorCode::kUnsupported, is.c_str()}});
  }
  json sliding = With(JsonOf<Gemma3_1B>(), {{"rope_scaling", nullptr}});
  json of_both = sliding;
  of_both["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 3e4}};
  sliding["rope_parameters"]["sliding_attention"] = {{"rope_type", "dynamic"}};
  CheckRefused({
      {Changed("rope_scaling", {{"type", "ntk"}, {"factor", 4.0}}), ErrorCode::kUnsupported,
       "rope_scaling.type is \"ntk\""},
      {Changed("rope_scaling", "linear"), ErrorCode::kDataLoss, "rope_scaling must be an object"},
      {Changed("rope_scaling", {{"rope_type", "linear"}}), ErrorCode::kNotFound, "rope_scaling.factor is missing"},
      {Changed("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}), ErrorCode::kNotFound,
       "rope_scaling.low_freq_factor is missing"},
      {Changed("rope_scaling", {{"rope_type", 3}}), ErrorCode::kDataLoss, "rope_scaling.rope_type must be a string"},
      {sliding.dump(), ErrorCode::kUnsupported, "rope_parameters.sliding_attention.rope_type is \"dynamic\""},
      {of_both.dump(), ErrorCode::kNotFound, "rope_parameters.sliding_attention is missing"},
      {Changed("partial_rotary_factor", 0.5), ErrorCode::kUnsupported, "partial_rotary_factor is 0.5"},
      {Changed("rope_scaling", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}), ErrorCode::kUnsupported,
       "rope_scaling.partial_rotary_factor is 0.5"},
  });
}

TEST_CASE("numbers of RoPE that no model can have are refused") {
  const auto check = [](const json& scaling, double base, const std::string& part) {
    CAPTURE(scaling.dump());
    const json config = With(JsonOf<Llama3_2_1B>(), {{"rope_scaling", nullptr}, {"rope_theta", base}});
    json changed = config;
    changed["rope_scaling"] = scaling;
    const auto read = ParseConfigJson(changed.dump());
    const char* const why =
        read ? WhyImpossible(read->spec) : read.error().message.c_str();  // as DescribeModel says it
    REQUIRE(why != nullptr);
    CHECK_MESSAGE(std::string(why).find(part) != std::string::npos, why);
  };
  const auto llama3 = [](double low, double high, double context) {
    return json{{"rope_type", "llama3"},
                {"factor", 8.0},
                {"low_freq_factor", low},
                {"high_freq_factor", high},
                {"original_max_position_embeddings", context}};
  };
  const std::string ramp = "0 < low_frequency_factor < high_frequency_factor";
  check(llama3(4.0, 4.0, 8192.0), 5e5, ramp);
  check(llama3(4.0, 1.0, 8192.0), 5e5, ramp);
  check(llama3(-1.0, 4.0, 8192.0), 5e5, "low_freq_factor must be");
  check(llama3(1.0, 4.0, 0.0), 5e5, "original_max_position_embeddings must be");
  for (const double factor : {0.0, -2.0, 1e-40}) {
    check({{"rope_type", "linear"}, {"factor", factor}}, 5e5, "rope_scaling.factor must be");
  }
  check({{"rope_type", "linear"}, {"factor", 0.5}}, 5e5, "factor of a RopeSpec must be at least 1");
  check({{"rope_type", "default"}}, 1.0, "must be greater than 1");
}

}  // namespace config_json_rope_test
}  // namespace skald
