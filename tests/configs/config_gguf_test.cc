// SPDX-License-Identifier: Apache-2.0
//
// From the metadata of GGUF files to a Config.

#include "skald/families/detail/parse_gguf.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/find_named.h"
#include "skald/families/gguf_metadata.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "tests/configs/gguf_samples.h"
#include "tests/support/check_error.h"
#include "tests/support/config_list.h"
#include "tests/support/golden_configs.h"

namespace skald::testing {
namespace config_gguf_test {

using nlohmann::json;

// The architecture of a Config of this type in GGUF files, or "" for families that have none here.
std::string GgufArchitecture(std::string_view model_type) {
  if (model_type == "mistral" || model_type == "mixtral") return "llama";
  if (model_type == "qwen3_moe") return "qwen3moe";
  if (model_type == "gemma3_text") return "gemma3";
  for (const char* name : {"llama", "qwen2", "qwen3", "olmo2", "smollm3", "phi3", "gemma", "gemma2"}) {
    if (model_type == name) return name;
  }
  return "";
}

struct Described {
  json metadata;
  GgufTensorFacts facts;
};

// Returns what a file of a model of Config C says.
template <ModelConfig C>
Described Describe() {
  const ShortForm a = ShortFormOf<C>();
  const std::string architecture = GgufArchitecture(a.model_type), prefix = architecture + ".";
  Described file;
  json& metadata = file.metadata;
  metadata["general.architecture"] = architecture;
  metadata[prefix + "block_count"] = a.layers.size();
  metadata[prefix + "embedding_length"] = a.model_dim;
  metadata[prefix + "feed_forward_length"] = a.feed_forward_dim;
  if (const auto* experts = a.feed_forward ? a.feed_forward->As<MixtureOfExperts>() : nullptr) {
    metadata[prefix + "expert_count"] = experts->experts;
    metadata[prefix + "expert_used_count"] = experts->chosen;
    metadata[prefix + "expert_feed_forward_length"] = experts->width;
    metadata[prefix + "feed_forward_length"] = experts->width;  // files of Qwen 3 give the dense models' here
  }
  metadata[prefix + "attention.head_count"] = a.heads;
  metadata[prefix + "attention.head_count_kv"] = a.kv_heads;
  metadata[prefix + "attention.key_length"] = a.head_dim;
  metadata[prefix + "attention.value_length"] = a.head_dim;
  metadata[prefix + "attention.layer_norm_rms_epsilon"] = a.norm_epsilon;
  metadata[prefix + "rope.freq_base"] = a.rope.base;
  if (a.window > 0 && architecture != "llama") metadata[prefix + "attention.sliding_window"] = a.window;
  if (a.attention_softcap > 0) metadata[prefix + "attn_logit_softcapping"] = a.attention_softcap;
  if (a.final_softcap > 0) metadata[prefix + "final_logit_softcapping"] = a.final_softcap;
  if (a.rope.scaling == RopeScaling::kLinear) {
    metadata[prefix + "rope.scaling.type"] = "linear";
    metadata[prefix + "rope.scaling.factor"] = a.rope.factor;
  }
  if (a.rotary_dim != a.head_dim) metadata[prefix + "rope.dimension_count"] = a.rotary_dim;
  file.facts = {.vocab_size = a.vocab_size, .has_head = !a.tied_embeddings};
  if (a.rope.scaling == RopeScaling::kLongRope) {
    metadata[prefix + "rope.scaling.original_context_length"] = static_cast<int>(a.rope.original_context);
    metadata[prefix + "rope.scaling.attn_factor"] = a.rope.attention_factor;
    file.facts.long_rope_divisors = a.rope.factors;
    file.facts.short_rope_divisors = a.rope.short_factors;
  }
  if (a.rope.scaling == RopeScaling::kLlama3) {
    for (int i = 0; i < a.head_dim / 2; ++i) {
      const double plain = RopeFrequency({.base = a.rope.base}, i, a.head_dim);
      file.facts.rope_divisors.push_back(static_cast<float>(plain / RopeFrequency(a.rope, i, a.head_dim)));
    }
  }
  return file;
}

// Returns the name of the first Config of the list that fits, or the error.
template <class List = testing::PublishedConfigs>
std::string Identified(const Described& file) {
  const auto models = ParseConfigGguf(file.metadata, file.facts);
  if (!models) return models.error().message;
  static const std::vector<NamedSpec> known = testing::SpecsOf(List{});
  for (const DescribedModel& model : *models) {
    if (const Result<size_t> index = FindNamed(known, model)) return std::string(known[*index].name);
  }
  return FindNamed(known, models->front()).error().message;
}

TEST_CASE("The metadata of every published model of attention layers name its Config") {
  size_t count = 0;
  const auto check = [&]<ModelConfig C>() {
    if (GgufArchitecture(C::kModelType).empty()) return;
    CHECK(Identified(Describe<C>()) == C::kName);
    ++count;
  };
  testing::ForEachConfig(testing::PublishedConfigs(), check);
  CHECK(count == 32);
}

TEST_CASE("The scaling of Llama 3 is told from the divisors, whatever it refers to") {
  CHECK(Identified<testing::PublishedConfigs::With<GoldenLlama>>(Describe<GoldenLlama>()) == "golden-llama");
  Described file = Describe<Llama3_1_8B>();
  file.facts.rope_divisors[20] *= 1.1f;
  CHECK(Identified(file) ==
        "metadata: llama.rope is \"scaled by rope_freqs.weight\"; Skald supports only the scaling of Llama 3");
  file.facts.rope_divisors.pop_back();
  CHECK(Identified(file).find("scaled by rope_freqs.weight") != std::string::npos);
  file.facts.rope_divisors.clear();
  CHECK(Identified(file).find("rope_type (default, expected llama3)") != std::string::npos);
}

TEST_CASE("Factors of RoPE must be there twice, and one for each pair") {
  Described file = Describe<Phi4_Mini>();
  file.facts.short_rope_divisors.clear();
  CHECK(Identified(file) ==
        "metadata: phi3.rope_factors_short.weight must be 48 numbers, half of rope.dimension_count, but is 0");
  file = Describe<Phi4_Mini>();
  file.facts.long_rope_divisors.push_back(1.0f);
  CHECK(Identified(file) ==
        "metadata: phi3.rope_factors_long.weight must be 48 numbers, half of rope.dimension_count, but is 49");
  file = Describe<Phi4_Mini>();
  file.metadata.erase("phi3.rope.scaling.original_context_length");
  CHECK(Identified(file) == "metadata: phi3.rope.scaling.original_context_length is missing or null");
}

TEST_CASE("What older files leave out has the format's defaults") {
  Described file = Describe<Llama2_7B>();
  for (const char* name :
       {"rope.freq_base", "attention.head_count_kv", "attention.key_length", "attention.value_length"}) {
    file.metadata.erase("llama." + std::string(name));
  }
  CHECK(Identified(file) == "llama2-7b");
  Described gemma = Describe<Gemma2_9B>();
  for (const char* name :
       {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping", "rope.freq_base"}) {
    gemma.metadata.erase("gemma2." + std::string(name));
  }
  CHECK(Identified(gemma) == "gemma2-9b");
  Described scaled = Describe<Llama2_7B>();
  scaled.metadata["llama.rope.scale_linear"] = 4.0;
  CHECK(Identified(scaled).find("rope_type (linear, expected default)") != std::string::npos);
}

TEST_CASE("A file of InternLM 2 that names no type of RoPE says how long a text may be") {
  GgufSample sample = GgufSampleOf("internlm2");
  const auto longest = [&] {
    const auto models = ParseConfigGguf(sample.metadata, sample.facts);
    REQUIRE_MESSAGE(models, models.error().message);
    return LongestText(models->front().spec);
  };
  CHECK(longest() == 0);
  sample.metadata.erase("internlm2.rope.scaling.type");
  CheckError(ParseConfigGguf(sample.metadata, sample.facts), ErrorCode::kNotFound,
             "internlm2.context_length is missing");
  sample.metadata["internlm2.context_length"] = 32768;
  CHECK(longest() == 32768);
  // Metadata that are written say the same.
  ModelSpec spec = ParseConfigGguf(sample.metadata, sample.facts)->front().spec;
  for (const int limit : {32768, 0}) {
    spec.longest_text = limit;
    const auto description = DescribeForGguf(spec, "internlm2", 4096);
    REQUIRE_MESSAGE(description, description.error().message);
    CHECK(description->model_type == "internlm2");
  }
}

TEST_CASE("The query scale of Gemma comes from the metadata, or follows from the sizes") {
  Described file = Describe<Gemma2_27B>();
  file.metadata["gemma2.attention.scale"] = 1.0f / std::sqrt(144.0f);
  CHECK(Identified(file) == "gemma2-27b");
  file.metadata["gemma2.attention.scale"] = 1.0f / std::sqrt(128.0f);
  CHECK(Identified(file).find("query_pre_attn_scalar (128, expected 144)") != std::string::npos);
  file.metadata["gemma2.attention.scale"] = 0.3f;  // of no whole number
  const auto read = ParseConfigGguf(file.metadata, file.facts);
  REQUIRE(read);
  CHECK(static_cast<float>(1.0 / std::sqrt(read->front().spec.blocks[0].layers[0].As<Attention>()->query_pre_scale)) ==
        0.3f);

  // Unpublished sizes follow llama.cpp's rule: the largest model is known by its layers.
  const auto divisor_of = [](const Described& described) {
    const auto models = ParseConfigGguf(described.metadata, described.facts);
    REQUIRE(models);
    return models->front().spec.blocks[0].layers[0].As<Attention>()->query_pre_scale;
  };
  for (Described changed : {Describe<Gemma2_27B>(), Describe<Gemma3_27B>()}) {
    const std::string prefix = changed.metadata["general.architecture"].get<std::string>() + ".";
    changed.metadata[prefix + "attention.head_count"] = 64;
    CHECK(divisor_of(changed) == changed.metadata[prefix + "embedding_length"].get<int>() / 64);
    changed.metadata[prefix + "block_count"] = 44;
    CHECK(divisor_of(changed) == 128);
  }
}

TEST_CASE("A value that is missing or cannot be right is named") {
  const auto error_of = [](const char* name, const json& value) {
    Described file = Describe<Llama2_7B>();
    if (value.is_null()) {
      file.metadata.erase(name);
    } else {
      file.metadata[name] = value;
    }
    return Identified(file);
  };
  CHECK(error_of("general.architecture", nullptr) == "metadata: general.architecture is missing or null");
  CHECK(error_of("general.architecture", 3) == "metadata: general.architecture must be a string, but is 3");
  const std::string unknown = error_of("general.architecture", "t5");
  CHECK(unknown.starts_with("metadata: general.architecture is \"t5\"; Skald supports only llama, mistral3, "));
  for (const FamilyFacts& family : Families()) {
    for (const std::string_view one : family.architectures) CHECK(unknown.find(one) != std::string::npos);
  }
  CHECK(error_of("llama.block_count", nullptr) == "metadata: llama.block_count is missing or null");
  CHECK(error_of("llama.block_count", uint64_t{1} << 63) ==
        "metadata: llama.block_count must be a whole number from 1 to 4096, but is 9223372036854775808");
  CHECK(error_of("llama.embedding_length", 0).find("embedding_length must be a whole number") != std::string::npos);
  CHECK(error_of("llama.attention.head_count_kv", json{8, 8}).find("but is an array of 2") != std::string::npos);
  CHECK(error_of("llama.attention.layer_norm_rms_epsilon", "x").find("must be a number") != std::string::npos);
  CHECK(error_of("llama.attention.value_length", 64) ==
        "metadata: llama.attention.value_length is 64; Skald supports only 128");
  CHECK(error_of("llama.expert_count", 8) == "metadata: llama.expert_used_count is missing or null");
  CHECK(error_of("llama.rope.scaling.type", "longrope") ==
        "metadata: llama.rope.scaling.type is \"longrope\"; Skald supports only \"linear\", \"yarn\" and \"none\"");
  CHECK(error_of("llama.rope.scaling.type", "yarn") == "metadata: llama.rope.scaling.factor is missing or null");
  CHECK(error_of("llama.embedding_length", 4097).find("the nearest Config, ") == 0);
}

}  // namespace config_gguf_test
}  // namespace skald::testing
