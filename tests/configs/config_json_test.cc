// SPDX-License-Identifier: Apache-2.0

#include "skald/configs/readers/config_json.h"

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/configs/published.h"
#include "tests/configs/config_json_writer.h"
#include "tests/configs/published_json.h"

namespace skald {
namespace config_json_test {

using nlohmann::json;
using testing::Differences;
using testing::ToJson;

template <ModelConfig C>
json JsonOf() {
  return ToJson(ShortFormOf<C>());
}

ShortForm Parsed(const json& config) {
  const Result<internal::TextModel> result = internal::ReadConfigJson(config.dump());
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return std::get<ShortForm>(*result);
}

Error ErrorOf(const std::string& text) {
  const Result<internal::TextModel> result = internal::ReadConfigJson(text);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

// Returns `config` with the fields of `changes` set or, where null, removed.
json With(json config, const json& changes) {
  config.merge_patch(changes);
  return config;
}

void CheckSame(const json& config, const ShortForm& expected) {
  for (const std::string& difference : Differences(Parsed(config), expected)) FAIL_CHECK(difference);
}

template <ModelConfig C>
void CheckIs(const json& config) {
  CheckSame(config, ShortFormOf<C>());
}

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

TEST_CASE("a RoPE base that is absent is the one that transformers assumes") {
  const json absent = {{"rope_theta", nullptr}, {"rope_local_base_freq", nullptr}};
  CHECK(Parsed(With(JsonOf<Llama2_7B>(), absent)).rope.base == 10000.0);
  CHECK(Parsed(With(JsonOf<Mistral_7B_V0_3>(), absent)).rope.base == 10000.0);
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

// Text that must be refused: the code, and a part of the sentence.
struct Refused {
  std::string text;
  ErrorCode code;
  const char* part;
};

void CheckRefused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    CAPTURE(c.text);
    const Error error = ErrorOf(c.text);
    CHECK(error.code == c.code);
    CHECK_MESSAGE(error.message.find(c.part) != std::string::npos, error.message);
    CHECK_MESSAGE(error.message.starts_with("config.json"), error.message);
    CHECK(error.message.size() < 250);
  }
}

std::string Changed(const char* name, const json& value) {
  json config = JsonOf<Llama3_2_1B>();
  config[name] = value;
  return config.dump();
}

TEST_CASE("text that is not a JSON object is refused") {
  CheckRefused({
      {"", ErrorCode::kDataLoss, "not well-formed JSON"},
      {"{\"model_type\": \"llama\"", ErrorCode::kDataLoss, "not well-formed JSON"},
      {"{} {}", ErrorCode::kDataLoss, "not well-formed JSON"},
      {std::string("\0\xff\xfe", 3), ErrorCode::kDataLoss, "not well-formed JSON"},
      {"{\"model_type\": \"\xff\"}", ErrorCode::kDataLoss, "not well-formed JSON"},
      {"{\"rms_norm_eps\": 1e999}", ErrorCode::kDataLoss, "not well-formed JSON"},
      {"[1, 2]", ErrorCode::kDataLoss, "does not hold a JSON object"},
      {"\"llama\"", ErrorCode::kDataLoss, "does not hold a JSON object"},
      {"null", ErrorCode::kDataLoss, "does not hold a JSON object"},
  });
}

TEST_CASE("a file without a family, or of one that Skald does not know, is refused") {
  CheckRefused({
      {"{}", ErrorCode::kNotFound, "model_type is missing"},
      {R"({"model_type": 7})", ErrorCode::kDataLoss, "model_type must be a string, but is 7"},
      {R"({"model_type": ["llama"]})", ErrorCode::kDataLoss, "model_type must be a string, but is an array of 1"},
      {R"({"model_type": "rwkv"})", ErrorCode::kUnsupported,
       "model_type is \"rwkv\"; what Skald supports is llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, olmo2, "
       "smollm3, phi3, gemma, gemma2, gemma3_text, recurrent_gemma, mamba, mamba2, granitemoehybrid, lfm2"},
      {R"({"model_type": "gemma3"})", ErrorCode::kNotFound, "text_config is missing"},
      {R"({"model_type": "gemma3", "text_config": []})", ErrorCode::kDataLoss, "text_config must be an object"},
      {R"({"model_type": "gemma3", "text_config": {"model_type": "gemma4_text"}})", ErrorCode::kUnsupported,
       "text_config.model_type is \"gemma4_text\""},
      {R"({"model_type": "gemma3", "text_config": {"hidden_size": -1}})", ErrorCode::kDataLoss,
       "text_config.hidden_size must be"},
  });
}

TEST_CASE("a size that is missing or cannot be right is refused by name") {
  for (const char* name : {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers", "num_attention_heads",
                           "num_key_value_heads", "head_dim"}) {
    const std::string must = std::string(name) + " must be a whole number from 1 to ";
    for (const json& value : {json(-1), json(0), json(64.0), json(1e300), json(5'000'000'000), json(~uint64_t{0}),
                              json("64"), json(true), json::array({64}), json::object()}) {
      CheckRefused({{Changed(name, value), ErrorCode::kDataLoss, must.c_str()}});
    }
  }
  for (const char* name :
       {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "rms_norm_eps"}) {
    const std::string missing = std::string(name) + " is missing or null";
    CheckRefused({{With(JsonOf<Llama3_2_1B>(), {{name, nullptr}}).dump(), ErrorCode::kNotFound, missing.c_str()}});
  }
}

TEST_CASE("a number that cannot be right is refused by name") {
  for (const char* name :
       {"rms_norm_eps", "rope_theta", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"}) {
    const std::string must = std::string(name) + " must be a number from 1e-30 to 1e30";
    for (const json& value : {json(-1), json(0.0), json(1e200), json(1e-200), json("1e-5"), json(false)}) {
      CheckRefused({{Changed(name, value), ErrorCode::kDataLoss, must.c_str()}});
    }
  }
  CheckRefused({{Changed("tie_word_embeddings", 1), ErrorCode::kDataLoss, "tie_word_embeddings must be true or false"},
                {Changed("hidden_activation", 1), ErrorCode::kDataLoss, "hidden_activation must be a string"}});
}

TEST_CASE("layer_types that do not fit are refused") {
  CheckRefused({
      {Changed("layer_types", "full_attention"), ErrorCode::kDataLoss, "layer_types must be an array of 16"},
      {Changed("layer_types", json::array({"full_attention"})), ErrorCode::kDataLoss, "but is an array of 1"},
      {Changed("layer_types", json(16, "chunked_attention")), ErrorCode::kUnsupported,
       "layer_types is \"chunked_attention\""},
      {Changed("layer_types", json(16, 1)), ErrorCode::kUnsupported, "layer_types is 1"},
      {With(JsonOf<Gemma2_2B>(), {{"sliding_window", nullptr}}).dump(), ErrorCode::kNotFound,
       "sliding_window is missing"},
      {With(JsonOf<Gemma3_1B>(), {{"layer_types", nullptr}, {"sliding_window_pattern", 0}}).dump(),
       ErrorCode::kDataLoss, "sliding_window_pattern must be"},
      {With(JsonOf<Qwen3_4B>(), {{"layer_types", nullptr}, {"use_sliding_window", true}, {"sliding_window", 8}}).dump(),
       ErrorCode::kNotFound, "max_window_layers is missing"},
  });
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
  for (const char* type : {"yarn", "dynamic", "mrope", ""}) {
    const std::string is = "rope_scaling.rope_type is \"" + std::string(type) + "\"";
    CheckRefused(
        {{Changed("rope_scaling", {{"rope_type", type}, {"factor", 4.0}}), ErrorCode::kUnsupported, is.c_str()}});
  }
  json sliding = With(JsonOf<Gemma3_1B>(), {{"rope_scaling", nullptr}});
  sliding["rope_parameters"]["sliding_attention"] = {{"rope_type", "yarn"}};
  CheckRefused({
      {Changed("rope_scaling", {{"type", "ntk"}, {"factor", 4.0}}), ErrorCode::kUnsupported,
       "rope_scaling.type is \"ntk\""},
      {Changed("rope_scaling", "linear"), ErrorCode::kDataLoss, "rope_scaling must be an object"},
      {Changed("rope_scaling", {{"rope_type", "linear"}}), ErrorCode::kNotFound, "rope_scaling.factor is missing"},
      {Changed("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}), ErrorCode::kNotFound,
       "rope_scaling.low_freq_factor is missing"},
      {Changed("rope_scaling", {{"rope_type", 3}}), ErrorCode::kDataLoss, "rope_scaling.rope_type must be a string"},
      {sliding.dump(), ErrorCode::kUnsupported, "rope_parameters.sliding_attention.rope_type is \"yarn\""},
      {Changed("partial_rotary_factor", 0.5), ErrorCode::kUnsupported, "partial_rotary_factor is 0.5"},
      {Changed("rope_scaling", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}), ErrorCode::kUnsupported,
       "rope_scaling.partial_rotary_factor is 0.5"},
  });
}

TEST_CASE("a quantised checkpoint is refused by the name of its method") {
  const auto quantised = [](const char* method) { return Changed("quantization_config", {{"quant_method", method}}); };
  CheckRefused({
      {quantised("gptq"), ErrorCode::kUnsupported,
       "quantization_config.quant_method is \"gptq\"; what Skald supports is F32, F16, BF16 and the types of GGUF "
       "files"},
      {quantised("awq"), ErrorCode::kUnsupported, "quant_method is \"awq\""},
      {quantised("fp8"), ErrorCode::kUnsupported, "quant_method is \"fp8\""},
      {quantised("bitsandbytes"), ErrorCode::kUnsupported, "quant_method is \"bitsandbytes\""},
      {Changed("compression_config", {{"quant_method", "compressed-tensors"}}), ErrorCode::kUnsupported,
       "compression_config.quant_method is \"compressed-tensors\""},
      {Changed("quantization_config", {{"load_in_8bit", true}}), ErrorCode::kUnsupported,
       "quantization_config is an object; what Skald supports is F32"},
      {Changed("quantization_config", "gptq"), ErrorCode::kUnsupported, "quantization_config is \"gptq\""},
      {With(JsonOf<Mamba_130M>(), {{"quantization_config", {{"quant_method", "fp8"}}}}).dump(), ErrorCode::kUnsupported,
       "quant_method is \"fp8\""},
  });
  json multimodal = {{"model_type", "gemma3"}, {"text_config", json::object()}};
  multimodal["text_config"]["quantization_config"]["quant_method"] = "torchao";
  CheckRefused({{multimodal.dump(), ErrorCode::kUnsupported, "text_config.quantization_config.quant_method is"}});
  multimodal["text_config"].clear();
  multimodal["quantization_config"]["quant_method"] = "awq";
  CheckRefused({{multimodal.dump(), ErrorCode::kUnsupported, "quantization_config.quant_method is \"awq\""}});
  json plain = JsonOf<Llama2_7B>();
  plain["quantization_config"] = nullptr;
  CheckIs<Llama2_7B>(plain);
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

TEST_CASE("what Skald would compute wrongly is refused") {
  CheckRefused({
      {Changed("use_bidirectional_attention", true), ErrorCode::kUnsupported, "use_bidirectional_attention is true"},
      {Changed("hidden_activation", "relu2"), ErrorCode::kUnsupported, "hidden_activation is \"relu2\""},
  });
}

TEST_CASE("long and strange values make short sentences in ASCII") {
  const Error error = ErrorOf(Changed("model_type", std::string(10000, 'x') + "\u00e9"));
  CHECK(error.message.size() < ErrorOf(Changed("model_type", "x")).message.size() + 70);
  for (const char c : ErrorOf(Changed("model_type", "\u00e9\n\u4e00")).message) CHECK((c >= ' ' && c <= '~'));
}

TEST_CASE("deep nesting is only another wrong value") {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK(ErrorOf("{\"model_type\": " + deep + "}").code == ErrorCode::kDataLoss);
  CHECK(ErrorOf("{\"model_type\": \"gemma3\", \"text_config\": {\"hidden_size\": " + deep + "}}").code ==
        ErrorCode::kDataLoss);
  CHECK(ErrorOf(deep).code == ErrorCode::kDataLoss);
}

TEST_CASE("a text cut short at any byte is refused") {
  for (const testing::PublishedJson& published : testing::kPublishedJson) {
    for (size_t size = 0; size < published.text.size(); ++size) {
      const Result<internal::TextModel> result = internal::ReadConfigJson(published.text.substr(0, size));
      REQUIRE_FALSE(result.has_value());
      REQUIRE(result.error().code == ErrorCode::kDataLoss);
    }
  }
}

TEST_CASE("damaged bytes give an answer or a sentence") {
  std::mt19937 random(7);
  int refused = 0;
  for (const testing::PublishedJson& published : testing::kPublishedJson) {
    for (int i = 0; i < 300; ++i) {
      std::string text(published.text);
      text[random() % text.size()] = static_cast<char>(random() % 256);
      const Result<internal::TextModel> result = internal::ReadConfigJson(text);
      if (!result && !result.error().message.empty()) ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace config_json_test
}  // namespace skald
