// SPDX-License-Identifier: Apache-2.0
//
// Reading models when memory runs out: checkpoints, packed files, descriptions and digests.

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "examples/demo_model/demo_config.h"
#include "skald/families/config/create.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config_json.h"
#include "skald/families/find_named.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/gguf_config.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/model/model.h"
#include "skald/store/snapshots/cached_digest.h"
#include "skald/store/snapshots/identity.h"
#include "tests/allocation/fail_each.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/small_configs.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/support/unpack.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace weights_test {

struct Nothing {};

constexpr auto kNothing = [] { return std::make_unique<Nothing>(); };

// All parameters of some weights.
std::string Parameters(const ModelWeights& weights) {
  std::string bytes;
  ForEachArray(
      ParametersOf(weights), [&](const Matrix& matrix, size_t, size_t) { bytes.append(BytesIn(matrix.data)); },
      [&](const std::vector<float>& vector, size_t) { bytes += BytesIn(vector); });
  return bytes;
}
constexpr auto kParameters = [](const auto&, const Result<ModelWeights>& weights) { return Parameters(*weights); };

// A folder with a model in all forms that there are.
struct ModelFiles {
  ModelFiles() {
    WriteFile(safetensors, SafetensorsImage(TinyTensors<TinyFull>()));
    WriteFile(gguf,
              GgufImage(GgufMetadata<TinyFull>("gemma3"), GgufTensors<TinyFull>(TinyTensors<TinyFull>(), "gemma3")));
    const std::vector<NewTensor> all = TinyTensors<TinyFull>();
    const size_t half = all.size() / 2;
    std::filesystem::create_directory(folder.path() / "shards");
    nlohmann::json map;
    for (size_t i = 0; i < all.size(); ++i) map[all[i].name] = i < half ? "one.safetensors" : "two.safetensors";
    WriteFile(shards, nlohmann::json{{"weight_map", map}}.dump());
    WriteFile(shards.parent_path() / "one.safetensors", SafetensorsImage({all.begin(), all.begin() + half}));
    WriteFile(shards.parent_path() / "two.safetensors", SafetensorsImage({all.begin() + half, all.end()}));
  }

  TemporaryFolder folder;
  const std::filesystem::path safetensors = folder.path() / "model.safetensors", gguf = folder.path() / "model.gguf",
                              shards = folder.path() / "shards" / "model.safetensors.index.json";
};

TEST_CASE("a checkpoint is opened and loaded, or there is an error, whichever allocation fails") {
  const ModelFiles files;
  for (const auto& path : {files.safetensors, files.gguf, files.shards}) {
    FailEachAllocation(
        "Checkpoint::Open of " + path.filename().string(), kNothing, [&](Nothing&) { return Checkpoint::Open(path); },
        [](Nothing&, const Result<Checkpoint>& opened) { return std::to_string(opened->tensors().size()); });
    FailEachAllocation(
        "LoadWeights of " + path.filename().string(), kNothing,
        [&](Nothing&) { return LoadWeights<TinyFull>(path, {.threads = 2}); }, kParameters);
  }
  FailEachAllocation(
      "LoadWeights as Q4_0", kNothing,
      [&](Nothing&) { return LoadWeights<TinyFull>(files.safetensors, {.dtype = DType::kQ4_0}); }, kParameters);
}

TEST_CASE("a packed file is written and mapped, or there is an error, whichever allocation fails") {
  const ModelFiles files;
  struct Cache {
    TemporaryFolder folder;
    LoadOptions options = {.cache_folder = folder.path() / "packed"};
  };
  const auto load = [&](Cache& cache) { return LoadWeights<TinyFull>(files.safetensors, cache.options); };
  FailEachAllocation(
      "LoadWeights that packs", [] { return std::make_unique<Cache>(); }, load, kParameters);
  const auto packed = [&] {
    auto cache = std::make_unique<Cache>();
    REQUIRE(load(*cache));
    return cache;
  };
  FailEachAllocation("LoadWeights of what was packed", packed, load, kParameters);
  const auto packed_for_ranks = [&] {
    auto cache = packed();
    cache->options.share = {1, 2};
    return cache;
  };
  FailEachAllocation("LoadWeights of a rank's part of what was packed", packed_for_ranks, load, kParameters);
}

TEST_CASE("a model is made, or there is an error, whichever allocation fails") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(TinyTensors<TinyModel>()));
  FailEachAllocation(
      "LoadModel", kNothing, [&](Nothing&) { return LoadModel<TinyModel>(folder.path()); },
      [](Nothing&, const Result<Model<TinyModel>>& model) { return Parameters(model->weights()); });
}

TEST_CASE("a pool is made for a Config, or there is an error, whichever allocation fails") {
  FailEachAllocation(
      "CreateBlockPool", kNothing, [](Nothing&) { return CreateBlockPool<TinyModel>(); }, kSuccess);
}

TEST_CASE("any model is loaded, or there is an error, whichever allocation fails") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.gguf";
  WriteFile(file,
            GgufImage(GgufMetadata<TinyModel>("llama"), GgufTensors<TinyModel>(TinyTensors<TinyModel>(), "llama")));
  FailEachAllocation(
      "LoadAnyModel", kNothing, [&](Nothing&) { return LoadAnyModel(file); },
      [](Nothing&, const Result<AnyModel>& model) { return Parameters(model->weights()); });
}

TEST_CASE("a Config is found, or there is an error, whichever allocation fails") {
  std::ifstream file(RepositoryPath("examples/demo_model/config.json"));
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  const auto index = [](Nothing&, const Result<size_t>& found) { return std::to_string(*found); };
  FailEachAllocation(
      "ParseConfigJson", kNothing, [&](Nothing&) { return ParseConfigJson(json); },
      [](Nothing&, const Result<DescribedModel>& model) { return std::to_string(Fingerprint(model->spec)); });
  const NamedSpec known[] = {NamedSpecOf<Gemma3_1B>(), NamedSpecOf<DemoModel>()};
  const auto model = ParseConfigJson(json);
  REQUIRE(model);
  FailEachAllocation(
      "FindNamed", kNothing, [&](Nothing&) { return FindNamed(known, *model); }, index);
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.gguf",
            GgufImage(GgufMetadata<TinyModel>("llama"), GgufTensors<TinyModel>(TinyTensors<TinyModel>(), "llama")));
  const auto checkpoint = Checkpoint::Open(folder.path() / "model.gguf");
  REQUIRE(checkpoint);
  FailEachAllocation(
      "ModelsOf a GGUF file", kNothing, [&](Nothing&) { return ModelsOf(*checkpoint->gguf()); },
      [](Nothing&, const auto& found) { return std::to_string(found->size()); });
}

TEST_CASE("a digest of weights is computed and kept, or there is an error, whichever allocation fails") {
  const auto digest = [](const auto&, const Result<Sha256Digest>& found) { return BytesIn(*found); };
  const auto files = [] { return std::make_unique<ModelFiles>(); };
  const auto of = [](ModelFiles& model) { return CachedDigestOfWeights(model.safetensors); };
  FailEachAllocation("CachedDigestOfWeights", files, of, digest);
  const auto known = [&] {
    auto model = files();
    REQUIRE(of(*model));
    return model;
  };
  FailEachAllocation("CachedDigestOfWeights, known already", known, of, digest);
  FailEachAllocation(
      "DigestOfWeights", files, [](ModelFiles& model) { return DigestOfWeights(model.safetensors); }, digest);
}

}  // namespace weights_test
}  // namespace skald::testing
