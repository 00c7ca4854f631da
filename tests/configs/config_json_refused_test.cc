// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config_json.h"

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/registry.h"
#include "tests/configs/config_json_checks.h"
#include "tests/configs/published_json.h"
#include "tests/support/config_list.h"

namespace skald {
namespace config_json_refused_test {

using nlohmann::json;
using namespace testing::config_json;

TEST_CASE("text that is not a JSON object is refused") {
  CheckRefused({
      {"", ErrorCode::kDataLoss, "not valid JSON"},
      {std::string(100'000, '['), ErrorCode::kDataLoss, "config.json is nested deeper than 100 levels"},
      {"{\"model_type\": \"llama\"", ErrorCode::kDataLoss, "not valid JSON"},
      {"{} {}", ErrorCode::kDataLoss, "not valid JSON"},
      {std::string("\0\xff\xfe", 3), ErrorCode::kDataLoss, "not valid JSON"},
      {"{\"model_type\": \"\xff\"}", ErrorCode::kDataLoss, "not valid JSON"},
      {"{\"rms_norm_eps\": 1e999}", ErrorCode::kDataLoss, "not valid JSON"},
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
       "model_type is \"rwkv\"; Skald supports only llama, mistral, mixtral, ministral3, "},
      {R"({"model_type": "gemma3"})", ErrorCode::kNotFound, "text_config is missing"},
      {R"({"model_type": "gemma3", "text_config": []})", ErrorCode::kDataLoss, "text_config must be an object"},
      {R"({"model_type": "gemma3", "text_config": {"model_type": "gemma5_text"}})", ErrorCode::kUnsupported,
       "text_config.model_type is \"gemma5_text\""},
      {R"({"model_type": "gemma3", "text_config": {"hidden_size": -1}})", ErrorCode::kDataLoss,
       "text_config.hidden_size must be"},
  });
}

TEST_CASE("the sentence about an unknown family names all that there are") {
  const std::string sentence = ParseConfigJson(R"({"model_type": "rwkv"})").error().message;
  for (const FamilyFacts& family : Families()) {
    for (const std::string_view type : family.model_types) CHECK(sentence.find(type) != std::string::npos);
  }
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
      CheckRefused({{With(JsonOf<Gemma2_2B>(), {{name, value}}).dump(), ErrorCode::kDataLoss, must.c_str()}});
    }
  }
  CheckRefused({{Changed("tie_word_embeddings", 1), ErrorCode::kDataLoss, "tie_word_embeddings must be true or false"},
                {Changed("hidden_activation", 1), ErrorCode::kDataLoss, "hidden_activation must be a string"}});
}

TEST_CASE("layer_types that do not fit are refused") {
  CheckRefused({
      {Changed("layer_types", "full_attention"), ErrorCode::kDataLoss,
       "layer_types must be an array of num_hidden_layers"},
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

TEST_CASE("quantised weights of a method that Skald does not read are refused by its name") {
  const auto quantised = [](const char* method) { return Changed("quantization_config", {{"quant_method", method}}); };
  CheckRefused({
      {quantised("hqq"), ErrorCode::kUnsupported,
       "quantization_config.quant_method is \"hqq\"; Skald supports only fp8, fbgemm_fp8, awq, gptq"},
      {quantised("awq"), ErrorCode::kNotFound, "quantization_config.bits is missing"},
      {Changed("compression_config", {{"quant_method", "compressed-tensors"}}), ErrorCode::kNotFound,
       "compression_config.config_groups is missing"},
      {Changed("quantization_config", {{"load_in_9bit", true}}), ErrorCode::kNotFound,
       "quantization_config.quant_method is missing"},
      {Changed("quantization_config", "gptq"), ErrorCode::kDataLoss, "quantization_config must be an object"},
      {With(JsonOf<Mamba_130M>(), {{"quantization_config", {{"quant_method", "eetq"}}}}).dump(),
       ErrorCode::kUnsupported, "quant_method is \"eetq\""},
  });
  json multimodal = {{"model_type", "gemma3"}, {"text_config", json::object()}};
  multimodal["text_config"]["quantization_config"]["quant_method"] = "torchao";
  CheckRefused({{multimodal.dump(), ErrorCode::kUnsupported, "text_config.quantization_config.quant_method is"}});
  multimodal["text_config"].clear();
  multimodal["quantization_config"]["quant_method"] = "hqq";
  CheckRefused({{multimodal.dump(), ErrorCode::kUnsupported, "quantization_config.quant_method is \"hqq\""}});
  json plain = JsonOf<Llama2_7B>();
  plain["quantization_config"] = nullptr;
  CheckIs<Llama2_7B>(plain);
}

TEST_CASE("what Skald would compute wrongly is refused") {
  CheckRefused({
      {Changed("use_bidirectional_attention", true), ErrorCode::kUnsupported, "use_bidirectional_attention is true"},
      {Changed("hidden_activation", "relu2"), ErrorCode::kUnsupported, "hidden_activation is \"relu2\""},
      {With(JsonOf<Gemma3_1B>(), {{"attn_logit_softcapping", 50.0}}).dump(), ErrorCode::kUnsupported,
       "attn_logit_softcapping is 50.0; Skald supports only null"},
  });
}

TEST_CASE("two fields that say different things, of which programs take one or the other, are refused") {
  json half_sliding = JsonOf<Mistral_7B_V0_1>();
  half_sliding["layer_types"][0] = "full_attention";
  CheckRefused({
      {With(JsonOf<Gemma_2B>(), {{"hidden_act", "silu"}, {"hidden_activation", "gelu_pytorch_tanh"}}).dump(),
       ErrorCode::kUnsupported, "hidden_act is \"silu\"; Skald supports only \"gelu_pytorch_tanh\""},
      {half_sliding.dump(), ErrorCode::kUnsupported,
       "layer_types is an array of 32; Skald supports only layers of one"},
      {With(JsonOf<Llama3_2_1B>(), {{"layer_types", json(16, "sliding_attention")}, {"sliding_window", 8}}).dump(),
       ErrorCode::kUnsupported, "layer_types is an array of 16; Skald supports only layers of one type"},
      {With(JsonOf<Qwen3_30B_A3B>(),
            {{"layer_types", nullptr}, {"use_sliding_window", true}, {"sliding_window", 8}, {"max_window_layers", 47}})
           .dump(),
       ErrorCode::kUnsupported, "use_sliding_window is true; Skald supports only false, unless all layers"},
      {With(JsonOf<Phi4_Mini>(),
            {{"max_position_embeddings", 131072}, {"rope_scaling", {{"attention_factor", nullptr}, {"factor", 3.0}}}})
           .dump(),
       ErrorCode::kUnsupported, "rope_scaling.factor is 3.0; Skald supports only 32.0"},
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
  for (const testing::PublishedJson& published : testing::ReadPublishedJson()) {
    for (size_t size = 0; size < published.text.size(); ++size) {
      const Result<internal::TextModel> result =
          internal::ReadConfigJson(std::string_view(published.text).substr(0, size));
      REQUIRE_FALSE(result.has_value());
      REQUIRE(result.error().code == ErrorCode::kDataLoss);
    }
  }
}

TEST_CASE("damaged bytes give an answer or a sentence") {
  std::mt19937 random(7);
  int refused = 0;
  for (const testing::PublishedJson& published : testing::ReadPublishedJson()) {
    for (int i = 0; i < 300; ++i) {
      std::string text = published.text;
      text[random() % text.size()] = static_cast<char>(random() % 256);
      const Result<internal::TextModel> result = internal::ReadConfigJson(text);
      if (!result && !result.error().message.empty()) ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace config_json_refused_test
}  // namespace skald
