// SPDX-License-Identifier: Apache-2.0
//
// Importance matrices: files of both forms, damaged ones, and what quantising makes of them.

#include "skald/weights/writing/importance.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/gguf_blocks.h"
#include "skald/weights/writing/block_encoder.h"
#include "skald/weights/writing/mixture.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace importance_test {

std::vector<float> Decoded(const GgufType& type, const std::vector<std::byte>& bytes, size_t count) {
  const TensorView view{"", "", {}, {}, bytes, FindGroupFormat(type.name)};
  std::vector<float> values(count);
  internal::ReadRow(view, 0, values);
  return values;
}

TEST_CASE("errors of important columns become smaller") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.5f);
  std::vector<float> values(4096), importance(values.size());
  for (float& value : values) value = normal(random);
  for (float& weight : importance) weight = std::exp(3.0f * normal(random));
  const std::vector<float> equal(values.size(), 1.0f);
  for (const char* const name :
       {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "MXFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"}) {
    CAPTURE(name);
    const GgufType& type = *FindGgufTypeByName(name);
    const std::string_view text = name;
    const bool is_plain = text == "Q3_K" || text == "Q6_K" || text == "IQ4_XS";  // weights are importances alone
    const auto error_with = [&](const float* weights) {
      std::vector<std::byte> bytes(values.size() / type.block_elements * type.block_bytes);
      FindBlockEncoder(type)(values, weights, bytes.data());
      const std::vector<float> read = Decoded(type, bytes, values.size());
      double error = 0.0;
      for (size_t i = 0; i < values.size(); ++i) error += importance[i] * std::pow(values[i] - read[i], 2);
      return error;
    };
    CHECK(error_with(importance.data()) < 0.97 * error_with(nullptr));
    if (is_plain) CHECK(error_with(equal.data()) == error_with(nullptr));
  }
}

ImportanceMatrix Example() {
  ImportanceMatrix matrix;
  matrix.tensors["blk.0.attn_q.weight"] = {{1.0f, 2.0f, 3.0f, 0.0f}, {512.0f}};
  matrix.tensors["blk.0.ffn_up_exps.weight"] = {{1.0f, 2.0f, 3.0f, 4.0f, 0.0f, 0.0f}, {7.0f, 0.0f}};
  matrix.texts = {"a.txt", "b.txt"};
  matrix.chunks = 3, matrix.chunk_tokens = 512;
  return matrix;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("an importance matrix is read as it was written") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "imatrix.gguf";
  const ImportanceMatrix matrix = Example();
  ThreadPool pool(2);
  REQUIRE(WriteImportance(path, matrix, ExecutorRef(pool)));
  const auto read = ReadImportance(path);
  REQUIRE_MESSAGE(read, read.error().message);
  REQUIRE(read->tensors.size() == 2);
  for (const auto& [name, tensor] : matrix.tensors) {
    CAPTURE(name);
    CHECK(read->tensors.at(name).sums == tensor.sums);
    CHECK(read->tensors.at(name).counts == tensor.counts);
  }
  CHECK(read->texts == matrix.texts);
  CHECK(read->chunks == 3);
  CHECK(read->chunk_tokens == 512);
}

// The older form, of one tensor.
std::string OlderImage(uint32_t size, const std::vector<float>& sums) {
  const std::string name = "blk.0.attn_q.weight";
  return Raw(uint32_t{1}) + Raw(static_cast<uint32_t>(name.size())) + name + Raw(uint32_t{5}) + Raw(size) +
         BytesOf(sums) + Raw(uint32_t{5}) + Raw(uint32_t{5}) + "a.txt";
}

TEST_CASE("the older form of importance matrices is read, and damaged files are refused") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "imatrix.dat";
  const auto read = [&](const std::string& image) {
    WriteFile(path, image);
    return ReadImportance(path);
  };
  const std::string older = OlderImage(4, {1.0f, 2.0f, 3.0f, 4.0f});
  const auto matrix = read(older);
  REQUIRE_MESSAGE(matrix, matrix.error().message);
  CHECK(matrix->tensors.at("blk.0.attn_q.weight").sums == std::vector<float>{1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(matrix->tensors.at("blk.0.attn_q.weight").counts == std::vector<float>{5.0f});
  CHECK(matrix->texts == std::vector<std::string>{"a.txt"});
  CHECK(matrix->chunks == 5);

  const auto refused = [&](const std::string& image) {
    const auto found = read(image);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kDataLoss);
    return found.error().message;
  };
  for (size_t size = 0; size < older.size() - 13; ++size) refused(older.substr(0, size));
  CHECK(refused(OlderImage(1u << 31, {1.0f})).find("imatrix.dat") != std::string::npos);
  refused(OlderImage(2, {1.0f, -1.0f}));
  refused(OlderImage(2, {1.0f, std::numeric_limits<float>::infinity()}));
  refused(OlderImage(0, {}));
  refused("And it came to pass in those days, that there was no matrix in the file.");

  ThreadPool pool(1);
  REQUIRE(WriteImportance(path, Example(), ExecutorRef(pool)));
  const std::string newer = Read(path);
  for (const size_t size : {size_t{4}, size_t{30}, newer.size() / 2, newer.size() - 32}) refused(newer.substr(0, size));
  ImportanceMatrix uneven = Example();
  uneven.tensors["x"] = {{1.0f, 2.0f, 3.0f, 4.0f}, {1.0f, -2.0f}};
  REQUIRE(WriteImportance(path, uneven, ExecutorRef(pool)));
  CHECK(refused(Read(path)).find("'x': has numbers that are no sums") != std::string::npos);
}

TEST_CASE("tensors are weighted by the mean squares of their columns, and by none that nothing was read by") {
  GgufDraft draft;
  const auto add = [&](const char* name, std::vector<uint64_t> shape, const char* type) {
    draft.tensors.push_back({name, std::move(shape), FindGgufTypeByName(type), [](uint64_t, std::span<float>) {}});
  };
  add("blk.0.attn_q.weight", {2, 4}, "Q4_0");
  add("blk.0.ffn_up_exps.weight", {2, 5, 3}, "Q4_0");
  add("blk.0.attn_k.weight", {2, 4}, "Q4_0");
  add("blk.0.attn_norm.weight", {4}, "F32");
  const auto missing = WeighByImportance(Example(), draft);
  REQUIRE_MESSAGE(missing, missing.error().message);
  CHECK(*missing == std::vector<std::string>{"blk.0.attn_k.weight"});
  CHECK(draft.tensors[0].importance == std::vector<float>{1.0f / 1.5f, 2.0f / 1.5f, 2.0f, 1e-4f});
  CHECK(draft.tensors[1].importance == std::vector<float>{0.5f, 1.0f, 1.5f, 1.0f, 1.0f, 1.0f});
  CHECK(draft.tensors[2].importance.empty());
  CHECK(draft.tensors[3].importance.empty());
  REQUIRE(draft.Find("quantize.imatrix.entries_count") != nullptr);

  draft.tensors[0].shape = {2, 8};
  const auto refused = WeighByImportance(Example(), draft);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "'blk.0.attn_q.weight': has 8 columns, but the importance matrix 4 sums");
}

}  // namespace importance_test
}  // namespace skald::testing
