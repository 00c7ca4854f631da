// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config_json.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "doctest/doctest.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/config_list.h"

namespace skald {
namespace config_json_test {

using nlohmann::json;
using namespace testing::config_json;

TEST_CASE("fields that cannot change a logit may hold anything") {
  json config = JsonOf<Llama2_7B>();
  for (const char* name : {"max_position_embeddings", "bos_token_id", "initializer_range", "attention_dropout",
                           "use_cache", "transformers_version", "torch_dtype", "dtype", "pretraining_tp"}) {
    config[name] = {{"surprise", -1}};
  }
  CheckIs<Llama2_7B>(config);
}

TEST_CASE("a head size that is absent or null follows from the family") {
  const json absent = {{"head_dim", nullptr}};
  CheckIs<Llama2_7B>(With(JsonOf<Llama2_7B>(), absent));
  CheckIs<Mistral_7B_V0_1>(With(JsonOf<Mistral_7B_V0_1>(), absent));
  CheckIs<Qwen2_5_0_5B>(With(JsonOf<Qwen2_5_0_5B>(), absent));
  CheckIs<Qwen3_0_6B>(With(JsonOf<Qwen3_0_6B>(), absent));  // 128 although 1024 / 16 is 64
  CheckIs<Gemma_7B>(With(JsonOf<Gemma_7B>(), absent));      // 256 although 3072 / 16 is 192
  CheckIs<Gemma2_2B>(With(JsonOf<Gemma2_2B>(), absent));
  CheckIs<Gemma3_1B>(With(JsonOf<Gemma3_1B>(), absent));
  json null = JsonOf<Llama2_7B>();
  null["head_dim"] = nullptr;
  CheckIs<Llama2_7B>(null);
}

TEST_CASE("key and value heads may be absent only in Llama, which then has as many as query heads") {
  const json absent = {{"num_key_value_heads", nullptr}};
  CheckIs<Llama2_7B>(With(JsonOf<Llama2_7B>(), absent));
  CHECK(ErrorOf(With(JsonOf<Mistral_7B_V0_1>(), absent).dump()).message ==
        "config.json: num_key_value_heads is missing or null");
}

TEST_CASE("whether embeddings are tied follows from the family where it is absent") {
  const json absent = {{"tie_word_embeddings", nullptr}};
  CheckIs<Llama2_7B>(With(JsonOf<Llama2_7B>(), absent));
  CheckIs<Mistral_7B_V0_1>(With(JsonOf<Mistral_7B_V0_1>(), absent));
  CheckIs<Gemma_7B>(With(JsonOf<Gemma_7B>(), absent));
  CheckIs<Gemma2_2B>(With(JsonOf<Gemma2_2B>(), absent));
  CheckIs<Gemma3_1B>(With(JsonOf<Gemma3_1B>(), absent));
  CHECK_FALSE(Parsed(With(JsonOf<Llama3_2_1B>(), absent)).tied_embeddings);
  CHECK_FALSE(Parsed(With(JsonOf<Qwen2_5_0_5B>(), absent)).tied_embeddings);
  CHECK_FALSE(Parsed(With(JsonOf<Qwen3_4B>(), absent)).tied_embeddings);
}

TEST_CASE("layers without layer_types follow from the family's older fields") {
  const json absent = {{"layer_types", nullptr}};
  CheckIs<Llama2_7B>(With(JsonOf<Llama2_7B>(), absent));
  CheckIs<Gemma_7B>(With(JsonOf<Gemma_7B>(), absent));
  CheckIs<Gemma2_9B>(With(JsonOf<Gemma2_9B>(), absent));
  CheckIs<Gemma3_1B>(With(JsonOf<Gemma3_1B>(), absent));
  CheckIs<Gemma3_1B>(With(JsonOf<Gemma3_1B>(), {{"layer_types", nullptr}, {"sliding_window_pattern", 6}}));

  for (const char* name : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    ShortForm every_third = ShortFormOf<Gemma3_1B>();
    for (size_t i = 0; i < every_third.layers.size(); ++i) {
      every_third.layers[i] = i % 3 == 2 ? LayerKind::kFullAttention : LayerKind::kSlidingAttention;
    }
    CheckSame(With(JsonOf<Gemma3_1B>(), {{"layer_types", nullptr}, {name, 3}}), every_third);
  }
}

TEST_CASE("Mistral slides unless its window is null") {
  json config = With(JsonOf<Mistral_7B_V0_1>(), {{"layer_types", nullptr}});
  CheckIs<Mistral_7B_V0_1>(config);
  config.erase("sliding_window");  // what the class assumes is the window of version 0.1
  CheckIs<Mistral_7B_V0_1>(config);
  config["sliding_window"] = nullptr;
  CHECK(Parsed(config).layers == ShortFormOf<Mistral_7B_V0_3>().layers);
}

TEST_CASE("Qwen slides only where it says so twice") {
  json config = With(JsonOf<Qwen2_5_0_5B>(), {{"layer_types", nullptr}, {"sliding_window", 8}});
  CheckIs<Qwen2_5_0_5B>(config);
  config["use_sliding_window"] = false;
  CheckIs<Qwen2_5_0_5B>(config);
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 20;
  ShortForm sliding = Parsed(config);
  CHECK(sliding.window == 8);
  CHECK(std::count(sliding.layers.begin(), sliding.layers.begin() + 20, LayerKind::kFullAttention) == 20);
  CHECK(std::count(sliding.layers.begin(), sliding.layers.end(), LayerKind::kSlidingAttention) == 4);
  config["max_window_layers"] = 0;
  CHECK(Parsed(config).layers == std::vector(24, LayerKind::kSlidingAttention));
  config["sliding_window"] = nullptr;
  CheckIs<Qwen2_5_0_5B>(config);
}

TEST_CASE("Gemma's activation is the tanh form under every name it had") {
  const json absent = {{"hidden_act", nullptr}, {"hidden_activation", nullptr}};
  const json base = With(JsonOf<Gemma_2B>(), absent);
  CheckIs<Gemma_2B>(base);
  CheckIs<Gemma_2B>(With(base, {{"hidden_act", "gelu"}}));
  CheckIs<Gemma_2B>(With(base, {{"hidden_act", "gelu_pytorch_tanh"}}));
  CheckIs<Gemma_2B>(With(base, {{"hidden_act", "gelu"}, {"hidden_activation", "gelu_pytorch_tanh"}}));
  CHECK(Parsed(With(base, {{"hidden_activation", "gelu"}})).activation == Activation::kGeluErf);
}

TEST_CASE("other families mean the exact form when they say gelu") {
  json llama = With(JsonOf<Llama2_7B>(), {{"hidden_activation", nullptr}, {"hidden_act", "gelu"}});
  CHECK(Parsed(llama).activation == Activation::kGeluErf);
  llama.erase("hidden_act");
  CHECK(Parsed(llama).activation == Activation::kSilu);
}

TEST_CASE("a soft cap that is absent is the family's, and one that is null is off") {
  json config = JsonOf<Gemma2_2B>();
  config.erase("attn_logit_softcapping");
  config.erase("final_logit_softcapping");
  CheckIs<Gemma2_2B>(config);
  config["attn_logit_softcapping"] = nullptr;
  CHECK(Parsed(config).attention_softcap == 0.0f);
  CHECK(Parsed(config).final_softcap == 30.0f);
  CHECK(Parsed(With(JsonOf<Gemma3_1B>(), {{"final_logit_softcapping", 20}})).final_softcap == 20.0f);
}

TEST_CASE("the scale of queries falls back to the family's, or to the head size") {
  const json absent = {{"query_pre_attn_scalar", nullptr}};
  CheckIs<Gemma2_2B>(With(JsonOf<Gemma2_2B>(), absent));
  CHECK(Parsed(With(JsonOf<Gemma2_27B>(), absent)).query_pre_scale == 256.0);
  CHECK(Parsed(With(JsonOf<Llama2_7B>(), absent)).query_pre_scale == 128.0);
}

TEST_CASE("Gemma 3 may leave out every default, inside a multimodal model and alone") {
  const json text = {{"hidden_size", 2560},
                     {"intermediate_size", 10240},
                     {"num_hidden_layers", 34},
                     {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                     {"sliding_window", 1024}};
  CheckIs<Gemma3_4B>({{"model_type", "gemma3"}, {"text_config", text}});
  CheckIs<Gemma3_4B>(With(text, {{"model_type", "gemma3_text"}}));
  const ShortForm bare = Parsed({{"model_type", "gemma3"}, {"text_config", json::object()}});
  CHECK(bare.model_dim == 2304);
  CHECK(bare.window == 4096);
}

TEST_CASE("biases are read where the family's class reads them") {
  const json attention = {{"attention_bias", true}};
  for (const json& config :
       {JsonOf<Llama3_2_1B>(), JsonOf<Qwen3_4B>(), JsonOf<Gemma_2B>(), JsonOf<Gemma2_2B>(), JsonOf<Gemma3_1B>()}) {
    ShortForm expected = Parsed(config);
    CHECK_FALSE(expected.qkv_bias);
    expected.qkv_bias = expected.attention_output_bias = true;
    CheckSame(With(config, attention), expected);
  }
  ShortForm llama = ShortFormOf<Llama3_2_1B>();
  llama.feed_forward_bias = true;
  CheckSame(With(JsonOf<Llama3_2_1B>(), {{"mlp_bias", true}}), llama);
  ShortForm recurrent = ShortFormOf<RecurrentGemma_2B>();
  recurrent.qkv_bias = true;
  CheckSame(With(JsonOf<RecurrentGemma_2B>(), attention), recurrent);

  CheckIs<Qwen2_5_0_5B>(With(JsonOf<Qwen2_5_0_5B>(), attention));  // which has them of q, k and v, and no others
  CheckRefused({
      {With(JsonOf<Mistral_7B_V0_1>(), attention).dump(), ErrorCode::kUnsupported, "attention_bias is true"},
      {With(JsonOf<Qwen3_4B>(), {{"mlp_bias", true}}).dump(), ErrorCode::kUnsupported, "mlp_bias is true"},
      {Changed("attention_bias", 1), ErrorCode::kDataLoss, "attention_bias must be true or false"},
      {Changed("mlp_bias", "yes"), ErrorCode::kDataLoss, "mlp_bias must be true or false"},
  });
}

}  // namespace config_json_test
}  // namespace skald
