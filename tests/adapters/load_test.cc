// SPDX-License-Identifier: Apache-2.0
//
// Adapters from files: the scale of each pair, names and orders of rows of both formats, and what is refused.

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_adapter.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/small_models.h"
#include "tests/support/unpack.h"

namespace skald::testing {
namespace load_test {

constexpr size_t kRank = 3;
const std::string kQuery = "model.layers.0.self_attn.q_proj", kPrefix = "base_model.model.";

const ModelSpec& TheSpec() { return SmallModelNamed("one-layer").spec; }
TestPairs ThePairs() { return RandomPairs(TheSpec(), 5, kRank); }

// Returns the pairs whose names contain `part`.
TestPairs Only(TestPairs pairs, const std::string& part) {
  std::erase_if(pairs, [&](const auto& pair) { return pair.first.find(part) == std::string::npos; });
  REQUIRE_FALSE(pairs.empty());
  return pairs;
}

Result<Adapter> LoadPeft(const nlohmann::json& settings, const std::vector<NewTensor>& tensors,
                         const ModelSpec& spec = TheSpec()) {
  const TemporaryFolder folder;
  WritePeft(folder.path(), settings, tensors);
  return LoadAdapter(folder.path(), spec);
}
Result<Adapter> LoadPeft(const TestPairs& pairs) { return LoadPeft(PeftSettings(kRank), PeftTensors(pairs)); }

GgufValues GgufSettings() {
  return GgufValues()
      .String("general.type", "adapter")
      .String("general.architecture", "llama")
      .String("adapter.type", "lora")
      .F32("adapter.lora.alpha", static_cast<float>(kTestAlpha));
}

// As llama.cpp's converter writes them of models of the architecture llama.
std::vector<NewGgufTensor> GgufPairs(const TestPairs& pairs, size_t head_dim) {
  std::vector<NewGgufTensor> tensors;
  for (const auto& [name, pair] : pairs) {
    const bool is_turned = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
    const std::string b = BytesOf(pair.b), converted = GgufName(name, false);
    tensors.push_back({converted + ".lora_a", 0, {pair.rank, pair.cols}, BytesOf(pair.a)});
    tensors.push_back(
        {converted + ".lora_b", 0, {pair.rows, pair.rank}, is_turned ? WithPairsAdjacent(b, pair.rows, head_dim) : b});
  }
  return tensors;
}

Result<Adapter> LoadGguf(const GgufValues& values, const std::vector<NewGgufTensor>& tensors,
                         const ModelSpec& spec = TheSpec()) {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "adapter.gguf", GgufImage(values, tensors));
  return LoadAdapter(folder.path() / "adapter.gguf", spec);
}

size_t HeadDim(const ModelSpec& spec) {
  return static_cast<size_t>(spec.blocks.front().layers.front().As<Attention>()->head_dim);
}

// The products of the adapter's matrices, in double: one after the other, [rows, cols] each.
std::vector<double> Products(const Adapter& adapter) {
  std::vector<double> products;
  for (const LowRank& low : adapter.low_ranks) {
    for (size_t row = 0; row < low.b.rows; ++row) {
      for (size_t col = 0; col < low.a.cols; ++col) {
        double sum = 0.0;
        for (size_t k = 0; k < low.a.rows; ++k) sum += double{ElementOf(low.b, row, k)} * ElementOf(low.a, k, col);
        products.push_back(sum);
      }
    }
  }
  return products;
}

// The first element of the product of the query's pair alone.
double FirstProduct(const Result<Adapter>& adapter) {
  if (!adapter) FAIL(adapter.error().message);
  return Products(*adapter).front();
}

TEST_CASE("a GGUF adapter and a PEFT adapter of one content are one adapter") {
  const auto from_peft = LoadPeft(ThePairs());
  const auto from_gguf = LoadGguf(GgufSettings(), GgufPairs(ThePairs(), HeadDim(TheSpec())));
  REQUIRE(from_peft);
  REQUIRE_MESSAGE(from_gguf, from_gguf.error().message);
  CHECK(from_peft->digest == from_gguf->digest);
  CHECK(from_peft->model == Fingerprint(TheSpec()));
  auto others = ThePairs();
  others.begin()->second.a[0] += 0.5f;
  CHECK(LoadPeft(others)->digest != from_peft->digest);
}

TEST_CASE("scales follow alpha, ranks and the patterns of both") {
  const auto pairs = Only(ThePairs(), "q_proj");
  const auto load = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json settings = PeftSettings(kRank);
    change(settings);
    return FirstProduct(LoadPeft(settings, PeftTensors(pairs)));
  };
  const double plain = load([](nlohmann::json&) {});
  const auto is = [&](double factor) { return doctest::Approx(plain * factor).epsilon(1e-6); };
  CHECK(load([](nlohmann::json& s) { s["lora_alpha"] = 3; }) == is(0.5));
  CHECK(load([](nlohmann::json& s) { s["use_rslora"] = true; }) == is(std::sqrt(3.0)));
  CHECK(load([](nlohmann::json& s) { s["r"] = 8, s["rank_pattern"] = {{"q_proj", 3}, {"k_proj", 4}}; }) == is(1.0));
  CHECK(load([](nlohmann::json& s) { s["alpha_pattern"] = {{"self_attn.q_proj", 12}, {"proj", 1}}; }) == is(2.0));
  CHECK(load([](nlohmann::json& s) { s["alpha_pattern"] = {{"^" + kQuery, 18}, {"^q_proj", 1}}; }) == is(3.0));
  const auto gguf = [&](const GgufValues& values) {
    return FirstProduct(LoadGguf(values, GgufPairs(pairs, HeadDim(TheSpec()))));
  };
  CHECK(gguf(GgufSettings()) == is(1.0));
  const auto without_alpha = GgufValues()
                                 .String("general.type", "adapter")
                                 .String("adapter.type", "lora")
                                 .String("general.architecture", "llama");
  CHECK(gguf(without_alpha) == is(kRank / kTestAlpha));
}

TEST_CASE("pairs of joined tensors change what pairs of their parts change") {
  TestPairs pairs = Only(ThePairs(), "proj");
  const auto join = [&](const std::vector<std::string>& parts, const std::string& joined) {
    TestPair all = pairs.at(parts.front());
    all.b.clear(), all.rows = 0;
    for (const std::string& part : parts) {
      TestPair& one = pairs.at(part);
      one.a = all.a;  // a joined tensor has one
      all.rows += one.rows;
      all.b.insert(all.b.end(), one.b.begin(), one.b.end());
    }
    return std::pair(joined, all);
  };
  const std::string layer = "model.layers.0.";
  const std::vector<std::string> qkv = {layer + "self_attn.q_proj.weight", layer + "self_attn.k_proj.weight",
                                        layer + "self_attn.v_proj.weight"};
  const std::vector<std::string> gate_up = {layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight"};
  const auto joined_qkv = join(qkv, layer + "self_attn.qkv_proj.weight");
  const auto joined_gate_up = join(gate_up, layer + "mlp.gate_up_proj.weight");
  const auto apart = LoadPeft(pairs);
  REQUIRE(apart);
  for (const auto* const parts : {&qkv, &gate_up}) {
    for (const std::string& part : *parts) pairs.erase(part);
  }
  pairs.insert({joined_qkv, joined_gate_up});
  const auto joined = LoadPeft(pairs);
  REQUIRE_MESSAGE(joined, joined.error().message);
  CHECK(Products(*joined) == Products(*apart));
  CHECK(joined->low_ranks[0].a.rows == kRank);
  // A GGUF file joins gate and up under the name that up has by itself.
  TestPairs ups;
  ups["model.layers.0.mlp.up_proj.weight"] = ThePairs().at(gate_up[1]);
  const auto up = LoadPeft(ups), gguf_up = LoadGguf(GgufSettings(), GgufPairs(ups, 2));
  REQUIRE_MESSAGE(gguf_up, gguf_up.error().message);
  CHECK(gguf_up->digest == up->digest);
  const TestPairs both = {{"model.layers.0.mlp.gate_up_proj.weight", joined_gate_up.second}};
  CHECK(LoadGguf(GgufSettings(), GgufPairs(both, 2))->digest == LoadPeft(both)->digest);
}

TEST_CASE("adapters follow the names of every family of checkpoints") {
  const TestPairs pairs = ThePairs();
  const auto expected = LoadPeft(pairs);
  for (const std::string body : {"language_model.model.", "model.language_model."}) {
    TestPairs renamed;
    for (const auto& [name, pair] : pairs) renamed[body + name.substr(std::string("model.").size())] = pair;
    CHECK(LoadPeft(renamed)->digest == expected->digest);
  }
}

TEST_CASE("a file that is no LoRA adapter for the model is refused, and says why") {
  const TestPairs pairs = ThePairs(), query = Only(pairs, "q_proj");
  const auto refuse = [](const TestPairs& of, ErrorCode code, const std::string& text) {
    CheckError(LoadPeft(of), code, text);
  };
  const auto with = [&](const std::function<void(std::vector<NewTensor>&)>& change) {
    std::vector<NewTensor> tensors = PeftTensors(query);
    change(tensors);
    return LoadPeft(PeftSettings(kRank), tensors);
  };
  SUBCASE("ranks that differ") {
    TestPairs other = query;
    other.begin()->second.rank = 4;
    other.begin()->second.a.resize(4 * other.begin()->second.cols);
    other.begin()->second.b.resize(4 * other.begin()->second.rows);
    refuse(other, ErrorCode::kDataLoss, "has the rank 4, but adapter_config.json says 3");
    CheckError(with([&](auto& tensors) { tensors[0] = PeftTensors(other)[0]; }), ErrorCode::kDataLoss,
               "the ranks of its pair differ");
  }
  SUBCASE("half of a pair") {
    CheckError(with([](auto& tensors) { tensors.pop_back(); }), ErrorCode::kDataLoss,
               "'" + kQuery + ".weight' has a tensor .lora_A.weight and none that ends with .lora_B.weight");
    CheckError(with([](auto& tensors) { tensors.erase(tensors.begin()); }), ErrorCode::kDataLoss,
               "none that ends with .lora_A.weight");
  }
  SUBCASE("nothing") {
    CheckError(with([](auto& tensors) { tensors.clear(); }), ErrorCode::kDataLoss, "the adapter has no tensors");
  }
  SUBCASE("tensors of other sizes") {
    TestPairs other = query;
    TestPair& pair = other.begin()->second;
    pair.cols += 4, pair.a.resize(kRank * pair.cols);
    refuse(other, ErrorCode::kInvalidArgument, "the adapter is for another model");
    other = query;
    other.begin()->second.rows *= 2, other.begin()->second.b.resize(other.begin()->second.rows * kRank);
    refuse(other, ErrorCode::kInvalidArgument, "lora_B.weight': expected shape [");
    CheckError(LoadPeft(PeftSettings(kRank), PeftTensors(pairs), SmallModelNamed("mixture").spec),
               ErrorCode::kInvalidArgument, "the adapter is for another model");
  }
  SUBCASE("names that the model does not have") {
    for (const std::string name : {"model.layers.7.self_attn.q_proj.weight", "model.layers.0.self_attn.w_proj.weight",
                                   "vision_tower.layers.0.q_proj.weight", "model.layers.0.mlp.gate_up.weight"}) {
      TestPairs other = pairs;
      other[name] = query.begin()->second;
      refuse(other, ErrorCode::kUnsupported, "'" + name + "': the model has no matrix of this name");
    }
    TestPairs head = pairs;
    head["lm_head.weight"] = query.begin()->second;
    refuse(head, ErrorCode::kUnsupported, "'lm_head.weight': adapters of embeddings, output heads");
    TestPairs norm;
    norm["model.layers.0.input_layernorm.weight"] = query.begin()->second;
    refuse(norm, ErrorCode::kUnsupported, "input_layernorm.weight': adapters of embeddings, output heads");
    TestPairs latents;
    latents["model.layers.0.self_attn.kv_b_proj.weight"] = query.begin()->second;
    CheckError(LoadPeft(PeftSettings(kRank), PeftTensors(latents), SmallModelNamed("latents").spec),
               ErrorCode::kUnsupported, "kv_b_proj.weight': adapters of embeddings, output heads");
    const ModelSpec& mixture = SmallModelNamed("mixture").spec;
    for (const std::string expert : {"experts.0.up_proj.weight", "experts.3.down_proj.weight"}) {
      TestPairs of_expert;
      of_expert["model.layers.0.mlp." + expert] = query.begin()->second;
      CheckError(LoadPeft(PeftSettings(kRank), PeftTensors(of_expert), mixture), ErrorCode::kUnsupported,
                 "'model.layers.0.mlp." + expert + "': adapters of experts are not supported");
    }
  }
  SUBCASE("tensors of other kinds") {
    const auto extra = [&](const std::string& name) {
      return with([&](auto& tensors) { tensors.push_back(FloatTensor(kPrefix + name, {2}, {1.0f, 2.0f})); });
    };
    CheckError(extra(kQuery + ".lora_magnitude_vector"), ErrorCode::kUnsupported, "it belongs to DoRA");
    CheckError(extra("model.embed_tokens.lora_embedding_A"), ErrorCode::kUnsupported, "adapters of embeddings");
    CheckError(extra("lm_head.weight"), ErrorCode::kUnsupported, "it is not half of a LoRA pair");
    CheckError(with([](auto& tensors) { tensors[0].dtype = "I32"; }), ErrorCode::kUnsupported,
               "expected F32, F16 or BF16, found 'I32'");
    CheckError(with([](auto& tensors) { tensors[0].shape.push_back(1); }), ErrorCode::kUnsupported,
               "expected a matrix");
  }
}

TEST_CASE("settings of PEFT that mean something else than LoRA are refused by name") {
  const std::vector<std::pair<std::string, nlohmann::json>> refused = {
      {"peft_type", "IA3"},
      {"use_dora", true},
      {"bias", "lora_only"},
      {"lora_bias", true},
      {"modules_to_save", {"lm_head"}},
      {"layer_replication", {{0, 4}, {2, 5}}},
      {"target_parameters", {"mlp.experts.gate_up_proj"}},
      {"trainable_token_indices", {7}},
      {"alora_invocation_tokens", {1, 2}},
      {"init_lora_weights", "pissa"},
      {"r", 0},
      {"r", "eight"},
      {"lora_alpha", nullptr},
      {"lora_alpha", 1e300},
      {"rank_pattern", {{"q_proj", "x"}}},
      {"alpha_pattern", {{"q_proj", 1}, {"self_attn.q_proj", 2}}},
      {"rank_pattern", {{".*q_proj", 2}}}};
  for (const auto& [name, value] : refused) {
    CAPTURE(name);
    nlohmann::json settings = PeftSettings(kRank);
    settings[name] = value;
    const auto adapter = LoadPeft(settings, PeftTensors(Only(ThePairs(), "q_proj")));
    REQUIRE_FALSE(adapter);
    CAPTURE(adapter.error().message);
    CHECK(adapter.error().message.find("adapter_config.json: ") != std::string::npos);
    CHECK(adapter.error().message.find(name) != std::string::npos);
  }
}

TEST_CASE("adapters that are damaged or not there are refused") {
  const TemporaryFolder folder;
  CheckError(LoadAdapter(folder.path(), TheSpec()), ErrorCode::kNotFound, "adapter_config.json");
  WritePeft(folder.path(), PeftSettings(kRank), PeftTensors(ThePairs()));
  const auto tensors = folder.path() / "adapter_model.safetensors", config = folder.path() / "adapter_config.json";
  std::filesystem::resize_file(tensors, std::filesystem::file_size(tensors) - 1);
  CheckError(LoadAdapter(folder.path(), TheSpec()), ErrorCode::kDataLoss, "adapter_model.safetensors");
  CheckError(LoadAdapter(tensors, TheSpec()), ErrorCode::kDataLoss, "adapter_model.safetensors");
  std::filesystem::remove(tensors);
  CheckError(LoadAdapter(folder.path(), TheSpec()), ErrorCode::kNotFound, "adapter_model.safetensors");
  WriteFile(config, "{\"r\": 3");
  CheckError(LoadAdapter(folder.path(), TheSpec()), ErrorCode::kDataLoss, "is not valid JSON");

  const auto pairs = GgufPairs(ThePairs(), HeadDim(TheSpec()));
  const auto facts = [](const std::string& type, const std::string& kind) {
    return GgufValues()
        .String("general.type", type)
        .String("adapter.type", kind)
        .String("general.architecture", "llama");
  };
  CheckError(LoadGguf(facts("model", "lora"), pairs), ErrorCode::kUnsupported, "general.type = \"adapter\"");
  CheckError(LoadGguf(facts("adapter", "dora"), pairs), ErrorCode::kUnsupported, "adapter.type = \"lora\"");
  for (const float alpha : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CheckError(LoadGguf(facts("adapter", "lora").F32("adapter.lora.alpha", alpha), pairs), ErrorCode::kDataLoss,
               "adapter.lora.alpha is not finite");
  }
  WriteFile(folder.path() / "cut.gguf", GgufImage(GgufSettings(), pairs).substr(0, 1000));
  CheckError(LoadAdapter(folder.path() / "cut.gguf", TheSpec()), ErrorCode::kDataLoss, "cut.gguf");
}

}  // namespace load_test
}  // namespace skald::testing
