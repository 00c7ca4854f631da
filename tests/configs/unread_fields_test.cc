// SPDX-License-Identifier: Apache-2.0
//
// No field of a file that could change a result is silently ignored: in every family, each field is read, is refused,
// or is in the list of those that may be ignored.

#include "skald/families/readers/passed/detail/unread_fields.h"
#include "skald/families/readers/passed/detail/config_json_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/families/config_json.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/detail/parse_gguf.h"
#include "skald/families/readers/passed/detail/gguf_values.h"
#include "tests/configs/gguf_samples.h"
#include "tests/configs/published_json.h"

namespace skald::testing {
namespace unread_fields_test {

using nlohmann::json;

// The path of a value in a file, after dots.
struct Place {
  std::vector<std::string> names;

  std::string Text() const {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ".") + name;
    return text;
  }
  json& In(json& root) const {
    json* value = &root;
    for (const std::string& name : names) value = &(*value)[name];
    return *value;
  }
};

// Adds the places of all values in `object`, and those of the objects that they are in.
void AddPlaces(const json& object, const Place& here, std::vector<Place>& values, std::vector<Place>& objects) {
  objects.push_back(here);
  for (const auto& [name, value] : object.items()) {
    Place place = here;
    place.names.push_back(name);
    if (value.is_object()) AddPlaces(value, place, values, objects);
    if (!value.is_object() && !value.is_null()) values.push_back(place);
  }
}

// Another value of the same kind.
json Other(const json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 1;
  if (value.is_number()) return value.get<double>() == 0.0 ? 0.5 : value.get<double>() * 1.5;
  if (value.is_string()) return value.get<std::string>() + "x";
  json other = value;
  other.empty() ? other.push_back(1) : void(other[other.size() / 2] = Other(other[other.size() / 2]));
  return other;
}

bool IsPassed(std::span<const internal::PassedFields> rows, std::span<const internal::PassedFields> of_family,
              std::string_view model, std::string_view name) {
  const auto is_listed = [&](const internal::PassedFields& row) {
    return !row.only && internal::ListsWord(row.names, name) && (row.of.empty() || internal::ListsWord(row.of, model));
  };
  return std::ranges::any_of(rows, is_listed) || std::ranges::any_of(of_family, is_listed);
}

// The published files, without the words that JSON does not have.
std::vector<std::pair<std::string, json>> PublishedFiles() {
  std::vector<std::pair<std::string, json>> files;
  for (const PublishedJson& published : ReadPublishedJson()) {
    files.emplace_back(published.config, json::parse(internal::QuoteBareNumbers(published.text)));
  }
  return files;
}

TEST_CASE("A field that no reader knows is refused by its name, in every family and every object that is read") {
  for (const auto& [config, file] : PublishedFiles()) {
    CAPTURE(config);
    REQUIRE(ParseConfigJson(file.dump()));
    std::vector<Place> values, objects;
    AddPlaces(file, {}, values, objects);
    for (const Place& object : objects) {
      const std::string path = object.Text();
      if (path == "vision_config" || path == "audio_config") continue;
      json changed = file;
      object.In(changed)["surprise"] = 3;
      const auto read = ParseConfigJson(changed.dump());
      REQUIRE_FALSE_MESSAGE(read.has_value(), path);
      CHECK(read.error().code == ErrorCode::kUnsupported);
      const std::string name = path + (path.empty() ? "" : ".") + "surprise";
      CHECK_MESSAGE(read.error().message.starts_with("config.json: " + name + " is 3, and Skald does not know"),
                    read.error().message);
      object.In(changed)["surprise"] = nullptr;  // says that it is left out
      CHECK(ParseConfigJson(changed.dump()));
    }
  }
}

TEST_CASE("Names of fields from a file are shown as a terminal may show them") {
  const auto message_of = [](const std::string& name) {
    json file = PublishedFiles().front().second;
    file[name] = 1;
    return ParseConfigJson(file.dump()).error().message;
  };
  CHECK(message_of("\x1b[2J").find('\x1b') == std::string::npos);
  CHECK(message_of("a b\n").starts_with("config.json: 'a b"));
  CHECK(message_of(std::string(10000, 'x')).size() < 500);
}

// Fields that are read and yet change nothing in some published file.
struct Idle {
  std::string_view configs, field, why;
};
constexpr Idle kIdle[] = {
    {"qwen3-30b-a3b qwen3-vl-30b-a3b qwen3-vl-235b-a22b qwen1.5-moe-a2.7b qwen2-57b-a14b mistral-small-4",
     "intermediate_size", "all layers have experts"},
    {"ling-lite ling-lite-1.5 ling-plus", "intermediate_size", "likewise"},
    {"gemma-4-26b-a4b gemma-4-31b", "use_double_wide_mlp",
     "of layers that share keys and values, of which there are none"},
    {"granite-4.0-h-350m", "rope_theta", "its attention has no positions"},
    {"lfm2-1.2b lfm2-350m lfm2-700m", "block_ff_dim", "is rounded to a multiple"},
    {"llama-4-scout", "intermediate_size_mlp", "all layers have experts"},
    {"llama-4-scout llama-4-maverick", "interleave_moe_layer_step", "moe_layers says which layers have experts"},
    {"llama-4-scout llama-4-maverick", "attn_temperature_tuning", "each number but 0 is true"},
    {"llama-4-scout", "rope_scaling.original_max_position_embeddings", "no frequency is so near to the step"},
    {"qwen2.5-0.5b qwen2.5-1.5b", "use_sliding_window",
     "of the layers from max_window_layers on, which is beyond the last"},
    {"qwen3-0.6b qwen3-4b qwen3-30b-a3b", "use_sliding_window", "the window is null"},
    {"smallthinker-4b", "sliding_window_size", "no layer has a window"},
    {"internlm2.5-1.8b internlm2.5-7b internlm2.5-20b", "rope_scaling.factor", "counts in longer texts alone"},
    {"afm-4.5b", "rope_scaling.mscale", "counts beside mscale_all_dim alone"},
    {"ernie-4.5-21b-a3b ernie-4.5-300b-a47b", "moe_layer_end_index", "is the last layer; there is none after it"},
};

TEST_CASE("Each value of a published config.json counts, or stands in the list") {
  for (const auto& [config, file] : PublishedFiles()) {
    const auto expected = ParseConfigJson(file.dump());
    REQUIRE(expected);
    const internal::FamilyRow* const family = internal::FamilyOfModelType(expected->model_type);
    std::vector<Place> values, objects;
    AddPlaces(file, {}, values, objects);
    for (const Place& place : values) {
      const std::string name = place.Text();
      std::string_view listed = name;
      if (listed.starts_with(internal::kTextConfig)) listed.remove_prefix(internal::kTextConfig.size());
      if (name.starts_with("vision_config.") ||
          IsPassed(internal::kPassedConfigJson, family->passed_json, expected->model_type, listed))
        continue;
      const bool is_idle = std::ranges::any_of(
          kIdle, [&](const Idle& one) { return internal::ListsWord(one.configs, config) && one.field == listed; });
      json changed = file;
      json& value = place.In(changed);
      value = Other(value);
      const auto read = ParseConfigJson(changed.dump());
      const bool counts = !read || read->spec != expected->spec || read->model_type != expected->model_type;
      CHECK_MESSAGE(counts != is_idle, (config + ": " + name));
    }
  }
}

Result<std::vector<DescribedModel>> Read(const GgufSample& sample) {
  return ParseConfigGguf(sample.metadata, sample.facts);
}

// Whether a file is refused, or makes another model.
bool Counts(const GgufSample& sample, const std::vector<DescribedModel>& expected) {
  const auto read = Read(sample);
  return !read || read->front().spec != expected.front().spec ||
         read->front().model_type != expected.front().model_type;
}

TEST_CASE("Metadata of every architecture are read") {
  std::set<std::string> architectures;
  std::vector<GgufSample> samples = GgufSamples();
  for (const GgufSample& sample : GgufSamplesIn("encoders")) samples.push_back(sample);
  for (const GgufSample& sample : samples) {
    const auto read = Read(sample);
    CHECK_MESSAGE(read.has_value(), (sample.architecture + ": " + (read ? "" : read.error().message)));
    architectures.insert(sample.architecture);
  }
  for (const internal::FamilyRow& family : internal::kFamilies) {
    for (const internal::GgufArchitecture& one : family.architectures)
      CHECK(architectures.contains(std::string(one.name)));
  }
}

TEST_CASE("Metadata that no reader knows are refused by their name, in every architecture") {
  for (const GgufSample& sample : GgufSamples()) {
    const std::string prefix = sample.architecture + ".";
    for (const char* const name : {"surprise", "attention.surprise", "rope.scaling.surprise"}) {
      GgufSample changed = sample;
      changed.metadata[prefix + name] = 3;
      const auto read = Read(changed);
      REQUIRE_FALSE(read);
      CHECK(read.error().code == ErrorCode::kUnsupported);
      CHECK_MESSAGE(read.error().message.starts_with("metadata: " + prefix + name + " is 3, and Skald does not know"),
                    read.error().message);
    }
    GgufSample other = sample;
    other.metadata["general.surprise"] = 3;  // of no architecture
    other.metadata["tokenizer.surprise"] = 3;
    CHECK(Read(other));
  }
}

// Values that change what a model of some architecture computes, of which files of no other may have them in silence.
TEST_CASE("What other architectures have is read or refused by its name in every one") {
  const std::pair<const char*, json> kValues[] = {{"attention.causal", false},
                                                  {"attention.sliding_window", 7},
                                                  {"attention.sliding_window_pattern", {true, true, false, false}},
                                                  {"attention.scale", 0.3},
                                                  {"attention.clamp_kqv", 8.0},
                                                  {"attention.value_length", 12},
                                                  {"attention.temperature_scale", 0.1},
                                                  {"attn_logit_softcapping", 49.0},
                                                  {"final_logit_softcapping", 29.0},
                                                  {"embedding_scale", 3.0},
                                                  {"residual_scale", 0.3},
                                                  {"logit_scale", 0.3},
                                                  {"rope.scaling.type", "longrope"},
                                                  {"rope.scaling.attn_factor", 1.3},
                                                  {"rope.scaling.yarn_ext_factor", 0.5},
                                                  {"rope.scaling.yarn_attn_factor", 0.5},
                                                  {"rope.freq_base_swa", 777.0},
                                                  {"expert_gating_func", 3},
                                                  {"expert_weights_scale", 1.7},
                                                  {"expert_weights_norm", false},
                                                  {"expert_group_count", 4},
                                                  {"nextn_predict_layers", 1},
                                                  {"moe_latent_size", 16},
                                                  {"use_parallel_residual", true},
                                                  {"swiglu_clamp_exp", {7.0, 7.0, 7.0, 7.0}}};
  for (const GgufSample& sample : GgufSamples()) {
    const auto expected = Read(sample);
    REQUIRE(expected);
    for (const auto& [name, value] : kValues) {
      // Two architectures have no other one.
      const bool is_usual = internal::ListsWord("olmoe qwen2moe", sample.architecture);
      if (is_usual && std::string_view(name) == "expert_weights_norm") continue;
      GgufSample changed = sample;
      json& own = changed.metadata[sample.architecture + "." + name];
      own = own == value ? Other(value) : value;
      CHECK_MESSAGE(Counts(changed, *expected), (sample.architecture + "." + name));
    }
  }
}

TEST_CASE("Scalings of RoPE are read or refused in every architecture with one") {
  for (const GgufSample& sample : GgufSamples()) {
    const std::string prefix = sample.architecture + ".";
    if (sample.metadata.contains(prefix + "rope.scaling.type")) continue;
    const auto expected = Read(sample);
    REQUIRE(expected);
    CAPTURE(sample.architecture);
    const bool has_none = internal::ListsWord("granitehybrid gpt2", sample.architecture);  // no layer has a RoPE
    for (const char* const type : {"linear", "yarn"}) {
      GgufSample changed = sample;
      changed.metadata[prefix + "rope.scaling.type"] = type;
      changed.metadata[prefix + "rope.scaling.factor"] = 4.0;
      changed.metadata[prefix + "rope.scaling.original_context_length"] = 1024;
      CHECK(Counts(changed, *expected) != has_none);
    }
    GgufSample changed = sample;
    changed.metadata[prefix + "rope.scaling.type"] = "none";
    CHECK(Read(changed));
    changed = sample;
    changed.facts.rope_divisors.assign(8, 2.0f);
    CHECK((has_none || Counts(changed, *expected)));
    changed.facts.rope_divisors.clear();
    changed.facts.long_rope_divisors.assign(8, 2.0f);  // the short ones are missing
    CHECK(Counts(changed, *expected));
  }
}

// Metadata that are read and yet change nothing in a sample.
constexpr Idle kIdleMetadata[] = {
    {"qwen2moe qwen3moe qwen3vlmoe hunyuan-moe smallthinker bailingmoe", "feed_forward_length",
     "all layers have experts"},
    {"ernie4_5-moe bailingmoe2", "expert_shared_count", "their width is another number"},
    {"granitehybrid", "rope.dimension_count", "its attention has no positions"},
    {"granitehybrid", "rope.freq_base", "its attention has no positions"},
    {"hunyuan-dense", "rope.scaling.factor", "of a scaling of type \"none\""},
};

TEST_CASE("Each value of every architecture's metadata counts, or stands in the list") {
  for (const GgufSample& sample : GgufSamples()) {
    const std::string prefix = sample.architecture + ".";
    const auto expected = Read(sample);
    REQUIRE(expected);
    const internal::FamilyRow* const family = internal::FamilyOfArchitecture(sample.architecture);
    for (const auto& [name, value] : sample.metadata.items()) {
      if (!name.starts_with(prefix)) continue;
      const std::string own = name.substr(prefix.size());
      if (IsPassed(internal::kPassedGguf, family->passed_gguf, sample.architecture, own)) continue;
      const bool is_idle = std::ranges::any_of(kIdleMetadata, [&](const Idle& one) {
        return internal::ListsWord(one.configs, sample.architecture) && one.field == own;
      });
      GgufSample changed = sample;
      changed.metadata[name] = Other(value);
      CHECK_MESSAGE(Counts(changed, *expected) != is_idle, name);
    }
  }
}

TEST_CASE("The sentence about a value that means something names it and the one that is run") {
  GgufSample sample = GgufSampleOf("llama");
  sample.metadata["llama.attention.causal"] = false;
  CHECK(Read(sample).error().message == "metadata: llama.attention.causal is false; Skald supports only true");
  sample = GgufSampleOf("llama");
  sample.metadata["llama.attention.scale"] = 0.5;
  CHECK(Read(sample).error().message ==
        "metadata: llama.attention.scale is 0.5; Skald supports only 1 divided by the root of attention.key_length");
  sample = GgufSampleOf("smollm3");
  sample.metadata["smollm3.attention.sliding_window"] = 4096;
  CHECK(Read(sample).error().message == "metadata: smollm3.attention.sliding_window is 4096; Skald supports only 0.0");
}

}  // namespace unread_fields_test
}  // namespace skald::testing
