// SPDX-License-Identifier: Apache-2.0
//
// Adapters for the checkpoints of every family, tensor by tensor as PEFT names them, against checkpoints into whose
// files the products were merged, W + scale * B * A, as PEFT merges them. The readers of names and orders of rows are
// compared with the original implementations in tests/golden/.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_adapter.h"
#include "skald/model/load_any.h"
#include "skald/weights/files/safetensors.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/compare_logits.h"
#include "tests/support/golden_folders.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace merged_checkpoints_test {

constexpr size_t kRank = 3;

// Whether a tensor is one of the linear modules of a layer that all rows are multiplied by. Each head of latent
// attention has matrices of its own made of kv_b_proj.
bool IsProjection(const TensorView& tensor) {
  const auto has = [&](const char* part) { return tensor.name.find(part) != tensor.name.npos; };
  return (has("layers.") || has("rwkv.blocks.") || has(".h.")) && !has("experts.") && !has("conv") &&
         !has("kv_b_proj") && !has("_norm.") && tensor.shape.size() == 2 && tensor.name.ends_with(".weight") &&
         tensor.dtype == DType::kF32;
}

// Whether a checkpoint has its matrices transposed, as PEFT's "fan_in_fan_out" says.
bool HasColumns(const std::filesystem::path& checkpoint) { return checkpoint.filename() == "gpt2"; }

TestPair PairFor(const TensorView& tensor, bool has_columns, uint64_t seed) {
  TestPair pair = {tensor.shape[has_columns ? 1 : 0], tensor.shape[has_columns ? 0 : 1], kRank, {}, {}};
  for (size_t i = 0; i < kRank * pair.cols; ++i) pair.a.push_back(0.2f * internal::UniformAt(seed, i));
  for (size_t i = 0; i < pair.rows * kRank; ++i) pair.b.push_back(0.1f * internal::UniformAt(seed + 1000, i));
  return pair;
}

// The bytes of a tensor with the pair merged in, computed in double.
std::string MergedBytes(const TensorView& tensor, bool has_columns, const TestPair& pair) {
  std::vector<float> weights(pair.rows * pair.cols);
  std::memcpy(weights.data(), tensor.bytes.data(), tensor.bytes.size());
  for (size_t r = 0; r < pair.rows; ++r) {
    for (size_t c = 0; c < pair.cols; ++c) {
      double sum = 0.0;
      for (size_t k = 0; k < kRank; ++k) sum += double{pair.b[r * kRank + k]} * pair.a[k * pair.cols + c];
      float& weight = weights[has_columns ? c * pair.rows + r : r * pair.cols + c];
      weight = static_cast<float>(weight + kTestAlpha / kRank * sum);
    }
  }
  return BytesOf(weights);
}

std::vector<float> LastLogits(const AnyModel& model, const Adapter* adapter) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 40; ++i) tokens.push_back((7 * i + 3) % model.spec().vocab_size);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), kExact, adapter == nullptr ? Sha256Digest{} : adapter->digest);
  const auto logits = model.Forward(cache, tokens, workspace, {.adapters = {adapter}});
  REQUIRE(logits);
  return {logits->begin(), logits->end()};
}

// Checks a checkpoint of the repository; returns how many of its tensors had a pair.
size_t CheckMerged(const std::filesystem::path& original) {
  const auto file = SafetensorsFile::Open(original / "model.safetensors");
  REQUIRE(file);
  const bool has_columns = HasColumns(original);
  TestPairs pairs;
  std::vector<NewTensor> merged;
  for (size_t i = 0; i < file->size(); ++i) {
    const TensorView tensor = (*file)[i];
    merged.push_back({std::string(tensor.name),
                      std::string(tensor.dtype_name),
                      {tensor.shape.begin(), tensor.shape.end()},
                      std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())});
    if (!IsProjection(tensor)) continue;
    const TestPair& pair = pairs[merged.back().name] = PairFor(tensor, has_columns, i);
    merged.back().bytes = MergedBytes(tensor, has_columns, pair);
  }
  const TemporaryFolder folder;
  std::filesystem::copy(original / "config.json", folder.path());
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(merged));
  nlohmann::json settings = PeftSettings(kRank);
  settings["fan_in_fan_out"] = has_columns;
  WritePeft(folder.path() / "adapter", settings, PeftTensors(pairs));
  const auto model = LoadAnyModel(original, {.dtype = DType::kF32});
  const auto expected_model = LoadAnyModel(folder.path(), {.dtype = DType::kF32});
  REQUIRE((model && expected_model));
  const auto adapter = LoadAdapter(folder.path() / "adapter", model->spec());
  REQUIRE_MESSAGE(adapter, adapter.error().message);
  const std::vector<float> expected = LastLogits(*expected_model, nullptr);
  const float difference = LargestDifference(LastLogits(*model, &*adapter), expected);
  CHECK(difference <= 4 * Tolerance(model->spec(), expected));
  CHECK(LargestDifference(LastLogits(*model, nullptr), expected) > 100 * difference);
  return pairs.size();
}

TEST_CASE("an adapter for each family's checkpoint gives what the merged checkpoint gives") {
  size_t checkpoints = 0;
  for (const std::string& folder : GoldenFolders()) {
    CAPTURE(folder);
    CHECK(CheckMerged(GoldenPath(folder)) >= 4);
    ++checkpoints;
  }
  CHECK(checkpoints >= 75);
}

}  // namespace merged_checkpoints_test
}  // namespace skald::testing
