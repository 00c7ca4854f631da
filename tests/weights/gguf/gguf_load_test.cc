// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of every family, converted to GGUF, hold the same weights to the bit and name the same Config.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/text/message.h"
#include "skald/families/gguf_config.h"
#include "skald/model/load.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/config_list.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/golden_configs.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gguf_load_test {

// A GGUF file that lives as long as this.
class WrittenFile {
 public:
  WrittenFile(const GgufValues& values, const std::vector<NewGgufTensor>& tensors) {
    WriteFile(path(), GgufImage(values, tensors));
  }
  std::filesystem::path path() const { return folder_.path() / "model.gguf"; }

 private:
  TemporaryFolder folder_;
};

GgufValues Architecture(const std::string& name) { return GgufValues().String("general.architecture", name); }

template <ModelConfig C>
void CheckConversion(const std::vector<NewTensor>& tensors, const std::string& architecture) {
  CAPTURE(architecture);
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
  const WrittenFile file(Architecture(architecture), GgufTensors<C>(tensors, architecture));
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const auto expected = LoadWeights<C>(folder.path(), {.dtype = dtype});
    const auto weights = LoadWeights<C>(file.path(), {.dtype = dtype, .threads = 2});
    REQUIRE(expected);
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    CHECK(SameWeights(*weights, *expected));
  }
}

template <ModelConfig C>
void CheckGolden(const std::string& folder, const std::string& architecture) {
  CheckConversion<C>(RawFile(GoldenPath(folder + "/model.safetensors")).Tensors(), architecture);
}

TEST_CASE("A checkpoint of each family arrives from GGUF as from safetensors") {
  CheckGolden<GoldenLlama>("llama", "llama");
  CheckGolden<GoldenMistral>("mistral", "llama");
  CheckGolden<GoldenQwen2>("qwen2", "qwen2");
  CheckGolden<GoldenQwen3>("qwen3", "qwen3");
  CheckGolden<GoldenQwen3Moe>("qwen3_moe", "qwen3moe");
  CheckGolden<GoldenMixtral>("mixtral", "llama");
  CheckGolden<GoldenOlmo2>("olmo2", "olmo2");
  CheckGolden<GoldenSmolLM3>("smollm3", "smollm3");
  CheckGolden<GoldenPhi3>("phi3", "phi3");
  CheckGolden<GoldenGemma>("gemma", "gemma");
  CheckGolden<GoldenGemma2>("gemma2", "gemma2");
  CheckGolden<GoldenGemma3>("gemma3", "gemma3");
  CheckGolden<Stories260K>("stories260K", "llama");
}

struct Biased : TinyModel {
  static constexpr bool kQKVBias = true;
};

TEST_CASE("Weights with every optional tensor arrive from GGUF") {
  CheckConversion<TinyModel>(TinyTensors<TinyModel>(), "llama");
  CheckConversion<TinyTied>(TinyTensors<TinyTied>(), "qwen2");
  CheckConversion<Biased>(TinyTensors<Biased>(), "llama");
  CheckConversion<TinyFull>(TinyTensors<TinyFull>(), "gemma3");
}

// Returns the tensors with queries, keys and values of each layer joined in one, as the converter does on request.
std::vector<NewGgufTensor> WithJoinedQkv(const std::vector<NewGgufTensor>& tensors) {
  std::vector<NewGgufTensor> joined;
  for (const NewGgufTensor& tensor : tensors) {
    const size_t query = tensor.name.find("attn_q.weight");
    const bool is_other = tensor.name.find("attn_k.weight") != std::string::npos ||
                          tensor.name.find("attn_v.weight") != std::string::npos;
    if (is_other) continue;
    joined.push_back(tensor);
    if (query == std::string::npos) continue;
    const std::string layer = tensor.name.substr(0, query);
    NewGgufTensor& whole = joined.back();
    whole.name = layer + "attn_qkv.weight";
    for (const char* const part : {"attn_k.weight", "attn_v.weight"}) {
      const auto found = std::ranges::find(tensors, layer + part, &NewGgufTensor::name);
      REQUIRE(found != tensors.end());
      whole.shape[0] += found->shape[0];
      whole.bytes += found->bytes;
    }
  }
  return joined;
}

template <ModelConfig C>
void CheckJoined(const std::string& folder, const std::string& architecture) {
  CAPTURE(architecture);
  const auto tensors = GgufTensors<C>(RawFile(GoldenPath(folder + "/model.safetensors")).Tensors(), architecture);
  const WrittenFile apart(Architecture(architecture), tensors);
  const WrittenFile joined(Architecture(architecture), WithJoinedQkv(tensors));
  const auto expected = LoadWeights<C>(apart.path()), weights = LoadWeights<C>(joined.path());
  REQUIRE(expected);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
}

TEST_CASE("Queries and keys that lie joined with values are turned as those by themselves") {
  CheckJoined<GoldenLlama>("llama", "llama");
  CheckJoined<GoldenMistral>("mistral", "llama");
  CheckJoined<GoldenMixtral>("mixtral", "llama");
  CheckJoined<GoldenSmolLM3>("smollm3", "smollm3");
  CheckJoined<GoldenQwen3>("qwen3", "qwen3");  // whose rows are not rotated
  CheckJoined<GoldenOlmo2>("olmo2", "olmo2");
}

// The Configs that a file of C could be taken for.
template <ModelConfig C>
using Candidates = testing::ConfigList<TinyLlama_1_1B, Gemma_2B, C>;

template <ModelConfig C>
void CheckIdentified(const std::string& folder, const std::string& architecture) {
  std::vector<NewGgufTensor> tensors =
      GgufTensors<C>(RawFile(GoldenPath(folder + "/model.safetensors")).Tensors(), architecture);
  if (C::kRope.scaling == RopeScaling::kLlama3) tensors.push_back(RopeDivisors(C::kRope, C::kHeadDim));
  if (C::kRope.scaling == RopeScaling::kLongRope) {
    for (NewGgufTensor& factors : RopeFactors(ShortFormOf<C>().rope)) tensors.push_back(std::move(factors));
  }
  const WrittenFile file(GgufMetadata<C>(architecture), tensors);
  const auto checkpoint = Checkpoint::Open(file.path());
  REQUIRE(checkpoint);
  REQUIRE(checkpoint->gguf() != nullptr);
  const auto models = ModelsOf(*checkpoint->gguf());
  REQUIRE_MESSAGE(models.has_value(), models.error().message);
  const Result<size_t> index = FindNamed(testing::SpecsOf(Candidates<C>()), models->front());
  REQUIRE_MESSAGE(index.has_value(), index.error().message);
  CHECK(*index == 2);
  CHECK(LoadWeights<C>(*checkpoint));  // what scales RoPE is not in the way
}

TEST_CASE("A GGUF file with tensors and metadata names its Config") {
  CheckIdentified<GoldenLlama>("llama", "llama");
  CheckIdentified<GoldenQwen2>("qwen2", "qwen2");
  CheckIdentified<GoldenQwen3>("qwen3", "qwen3");
  CheckIdentified<GoldenOlmo2>("olmo2", "olmo2");
  CheckIdentified<GoldenSmolLM3>("smollm3", "smollm3");
  CheckIdentified<GoldenPhi3>("phi3", "phi3");
  CheckIdentified<GoldenPhi3Partial>("phi3", "phi3");
  CheckIdentified<GoldenGemma>("gemma", "gemma");
  CheckIdentified<Stories260K>("stories260K", "llama");
}

// Returns the error of loading these tensors as a TinyModel, after the name of the file.
std::string LoadError(const std::vector<NewGgufTensor>& tensors) {
  const WrittenFile file(Architecture("llama"), tensors);
  const auto weights = LoadWeights<TinyModel>(file.path());
  return weights ? "accepted" : weights.error().message.substr(file.path().string().size() + 2);
}

TEST_CASE("Tensors that do not fit the Config are refused by the names of the file") {
  const std::vector<NewGgufTensor> tensors = GgufTensors<TinyModel>(TinyTensors<TinyModel>(), "llama");
  REQUIRE(LoadError(tensors) == "accepted");
  auto changed = tensors;
  changed.erase(changed.begin() + 2);
  CHECK(LoadError(changed) == "blk.0.attn_q.weight: expected a tensor of shape [8, 6], found none");
  changed = tensors;
  changed[2].shape = {6, 8};
  CHECK(LoadError(changed) == "blk.0.attn_q.weight: expected shape [8, 6], found [6, 8]");
  changed = tensors;
  changed.push_back({"blk.2.attn_norm.weight", 0, {6}, std::string(24, 0)});
  CHECK(LoadError(changed) == "'blk.2.attn_norm.weight': the Config has no place for this tensor, of shape [6]");
  changed = tensors;
  changed[2].type = 26;
  CHECK(LoadError(changed).find("blk.0.attn_q.weight: expected") == 0);
  CHECK(LoadError(changed).find("found 'I32'") != std::string::npos);
}

TEST_CASE("A list of tensors damaged in any bit gives an error, never other weights") {
  GgufParts parts;
  // With a small alignment, or a short tensor of another type would end at the same place.
  const std::string image = GgufImage(Architecture("llama").U32("general.alignment", 4),
                                      GgufTensors<TinyTied>(TinyTensors<TinyTied>(), "llama"), 4, &parts);
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  const auto load = [&](const std::string& bytes) {
    std::filesystem::remove(path);  // file systems are slow, on purpose, when a file is truncated and rewritten
    WriteFile(path, bytes);
    return LoadWeights<TinyTied>(path);
  };
  REQUIRE(load(image));
  for (size_t at = 0; at < parts.data; ++at) {
    if (at >= parts.values && at < parts.tensors) continue;  // other metadata mean another model
    std::string damaged = image;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    const auto weights = load(damaged);
    // The version may change from 3 to 2, and padding to anything.
    if (weights) CHECK(SameWeights(*weights, *load(image)));
  }
  for (size_t size = parts.tensors; size < image.size(); size += 7) CHECK_FALSE(load(image.substr(0, size)));
}

TEST_CASE("A GGUF file is told by its first letters, not by its name") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "weights.bin";
  WriteFile(path, GgufImage(Architecture("llama"), GgufTensors<TinyModel>(TinyTensors<TinyModel>(), "llama")));
  const auto is_gguf = [](const std::filesystem::path& file) {
    const auto opened = OpenedModel::Open(file);
    return opened && opened->gguf() != nullptr;
  };
  CHECK(is_gguf(path));
  CHECK(LoadWeights<TinyModel>(path));
  WriteFile(folder.path() / "x.gguf", "GGU");
  CHECK_FALSE(is_gguf(folder.path() / "x.gguf"));
  CHECK_FALSE(is_gguf(folder.path() / "absent"));
  CheckError(Checkpoint::Open(folder.path() / "x.gguf"), ErrorCode::kDataLoss, "x.gguf: not a safetensors file");
}

TEST_CASE("Facts that only the tensors hold must be there and make sense") {
  const auto error_of = [](const GgufValues& values, const std::vector<NewGgufTensor>& tensors) {
    const WrittenFile file(values, tensors);
    const auto models = ModelsOf(*GgufFile::Open(file.path()));
    if (!models) return models.error().message;
    return FindNamed(testing::SpecsOf(testing::ConfigList<TinyLlama_1_1B>()), models->front()).error().message;
  };
  const GgufValues whole = GgufMetadata<TinyModel>("llama");
  const std::string no_embedding = "token_embd.weight: expected a tensor of one row for each token, found none";
  CHECK(error_of(whole, {}) == no_embedding);
  CHECK(error_of(whole, {{"token_embd.weight", 0, {0}, ""}}) == no_embedding);
  CHECK(error_of(whole, {{"rope_freqs.weight", 26, {1}, "xxxx"}}) == "rope_freqs.weight: expected type F32");
  CHECK(error_of(whole, {{"token_embd.weight", 0, {1}, "xxxx"}}).find("the nearest Config, tinyllama") == 0);
  CHECK(error_of(Architecture("llama"), {}) == "metadata: llama.embedding_length is missing or null");
}

TEST_CASE("RoPE frequencies of another shape than a list are refused before they are read") {
  const auto error_of = [](const std::vector<uint64_t>& shape) {
    size_t size = 4;
    for (const uint64_t axis : shape) size *= axis;
    const WrittenFile file(Architecture("llama"), {{"rope_freqs.weight", 0, shape, std::string(size, 0)}});
    return ModelsOf(*GgufFile::Open(file.path())).error();
  };
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{1 << 17}, {2, 8}}) {
    CHECK(error_of(shape).code == ErrorCode::kUnsupported);
    CHECK(error_of(shape).message ==
          "rope_freqs.weight: expected at most 65536 numbers, found shape " + ShapeText(shape));
  }
}

}  // namespace gguf_load_test
}  // namespace skald::testing
