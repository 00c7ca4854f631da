// SPDX-License-Identifier: Apache-2.0
//
// Ranks take their parts of a packed file, which has whole matrices: the bytes that they load from the checkpoint.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/distributed/detail/handshake.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/quantised_types.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace packed_parts_test {

bool SameDivision(const Matrix& a, const Matrix& b) {
  if (a.division == nullptr || b.division == nullptr) return a.division == b.division;
  return a.division->output_begins == b.division->output_begins &&
         a.division->input_begins == b.division->input_begins && a.division->input_tiles == b.division->input_tiles &&
         a.division->known_by == b.division->known_by;
}

bool SameMatrix(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols && a.dtype == b.dtype && a.has_order == b.has_order &&
         a.has_factors == b.has_factors && SameDivision(a, b) &&
         std::ranges::equal(std::span<const std::byte>(a.data), std::span<const std::byte>(b.data));
}

// The arrays of a model, in a fixed order.
struct Arrays {
  explicit Arrays(const ModelWeights& weights) {
    ForEachArray(
        ParametersOf(weights), [this](const Matrix& matrix, size_t, size_t) { matrices.push_back(&matrix); },
        [this](const std::vector<float>& vector, size_t) { vectors.push_back(&vector); });
  }

  std::vector<const Matrix*> matrices;
  std::vector<const std::vector<float>*> vectors;
};

// Of two sets of weights that must have equal arrays. Returns how many matrices of `found` lie in a file.
size_t CheckSame(const ModelWeights& found, const ModelWeights& expected) {
  const Arrays in_found(found), in_expected(expected);
  REQUIRE(in_found.matrices.size() == in_expected.matrices.size());
  REQUIRE(in_found.vectors.size() == in_expected.vectors.size());
  size_t mapped = 0;
  for (size_t i = 0; i < in_found.matrices.size(); ++i) {
    CAPTURE(i);
    CHECK(SameMatrix(*in_found.matrices[i], *in_expected.matrices[i]));
    MatrixBytes& bytes = const_cast<Matrix*>(in_found.matrices[i])->data;  // null unless they are the matrix's own
    mapped += bytes.data() == nullptr && !bytes.empty();
  }
  for (size_t i = 0; i < in_found.vectors.size(); ++i) CHECK(*in_found.vectors[i] == *in_expected.vectors[i]);
  return mapped;
}

void Write(const std::filesystem::path& path, const ModelWeights& weights) {
  REQUIRE(WritePackedFile(path, ParametersOf(weights), {"a model", Fingerprint(weights.spec), weights.dtype}));
}

Result<ModelWeights> LoadPart(const std::filesystem::path& path, const ModelSpec& spec, DType type,
                              const RankShare& share, bool map = true) {
  return LoadWeights(path, spec, "a model",
                     {.dtype = type, .share = share, .packed_check = PackedCheck::kNever, .map = map});
}

// Parts of the checkpoint at `path`, from there and from a packed file of it.
void CheckParts(const std::filesystem::path& path, DType type) {
  const TemporaryFolder folder;
  const auto packed = folder.path() / "packed";
  const ModelSpec spec = DescribeModel(path)->spec;
  Write(packed, *LoadWeights(path, spec, "a model", {.dtype = type}));
  for (const size_t ranks : {2u, 3u, 4u}) {
    uint64_t known_by = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      CAPTURE(ranks);
      CAPTURE(rank);
      const auto expected = LoadPart(path, spec, type, {rank, ranks});
      REQUIRE(expected);
      const uint64_t facts = internal::FactsOf(*expected).weights;
      if (rank == 0) known_by = facts;
      CHECK(facts == known_by);
      const auto found = LoadPart(packed, spec, type, {rank, ranks});
      REQUIRE_MESSAGE(found, found.error().message);
      CheckSame(*found, *expected);
    }
  }
}

std::vector<DType> AllTypes() {
  std::vector<DType> types = kQuantisedTypes;
  types.insert(types.end(), {DType::kBF16, DType::kF32});
  return types;
}

TEST_CASE("parts of packed files are those of the checkpoint, for every family") {
  size_t families = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenPath(""))) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    CAPTURE(entry.path().filename().string());
    CheckParts(entry.path(), DType::kBF16);
    ++families;
  }
  CHECK(families >= 25);
}

TEST_CASE("parts of packed files are those of the checkpoint, for every type of weights") {
  for (const char* const family : {"llama", "qwen3_moe", "granitemoehybrid"}) {
    for (const DType type : AllTypes()) {
      CAPTURE(family);
      CAPTURE(NameOf(type));
      CheckParts(GoldenPath(family), type);
    }
  }
}

TEST_CASE("parts of packed files are those of the checkpoint, where columns have an order of their own") {
  CheckParts(GoldenPath("quantised/gptq_act_order"), DType::kF32);
  CheckParts(GoldenPath("quantised/ct_act_order"), DType::kF32);
  CheckParts(GoldenPath("quantised/gptq_head"), DType::kF32);
}

TEST_CASE("parts of packed files are those of the checkpoint, where inputs have factors") {
  CheckParts(GoldenPath("quantised/modelopt_w8a8_sq"), DType::kF32);
  CheckParts(GoldenPath("quantised/modelopt_w4a8_awq"), DType::kF32);
}

TEST_CASE("parts of packed files are those of the checkpoint, where inputs have a scale for each row") {
  CheckParts(GoldenPath("quantised/bitnet"), DType::kF32);
}

SKALD_LAW("parts of packed files are those of the weights that were packed", small) {
  const TemporaryFolder folder;
  for (const DType type : AllTypes()) {
    CAPTURE(NameOf(type));
    const auto packed = folder.path() / std::string(NameOf(type));
    Write(packed, *RandomWeights(small.spec, 5, type));
    for (const size_t ranks : {2u, 3u, 4u}) {
      for (size_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(ranks);
        CAPTURE(rank);
        const RankShare share = {rank, ranks};
        const ModelWeights expected = *RandomWeights(small.spec, 5, type, 1, share);
        const auto mapped = LoadPart(packed, small.spec, type, share);
        REQUIRE_MESSAGE(mapped, mapped.error().message);
        CHECK(CheckSame(*mapped, expected) > 0);  // the output head, if nothing else
        const auto copied = LoadPart(packed, small.spec, type, share, /*map=*/false);
        REQUIRE_MESSAGE(copied, copied.error().message);
        CHECK(CheckSame(*copied, expected) == 0);
      }
    }
  }
}

// The demo's checkpoint, its packed file, and what ranks of it load.
struct DemoParts {
  DemoParts() { Write(packed, *LoadWeights(checkpoint, spec, "a model")); }

  LoadOptions Options(size_t rank) const { return {.share = {rank, 2}}; }
  ModelWeights Expected(size_t rank) const { return *LoadWeights(checkpoint, spec, "a model", Options(rank)); }
  Result<ModelWeights> Packed(size_t rank, PackedCheck check = PackedCheck::kOnce) const {
    LoadOptions options = Options(rank);
    options.packed_check = check;
    return LoadWeights(packed, spec, "a model", options);
  }

  TemporaryFolder folder;
  std::filesystem::path packed = folder.path() / "demo.packed";
  std::filesystem::path checkpoint = GoldenPath("llama");
  ModelSpec spec = DescribeModel(checkpoint)->spec;
};

TEST_CASE("a packed file that is cut short or damaged is refused by the rank that finds it so") {
  const DemoParts demo;
  CheckSame(*demo.Packed(1), demo.Expected(1));
  const auto size = std::filesystem::file_size(demo.packed);
  const auto flip_last = [&] {
    std::fstream file(demo.packed, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  };
  flip_last();
  CheckError(demo.Packed(0, PackedCheck::kAlways), ErrorCode::kDataLoss, "is damaged; pack it again");
  // The end of the last matrix is on the last rank: others do not read it unless they compare checksums.
  CheckSame(*demo.Packed(0, PackedCheck::kNever), demo.Expected(0));
  flip_last();
  CheckSame(*demo.Packed(0, PackedCheck::kAlways), demo.Expected(0));
  std::filesystem::resize_file(demo.packed, size - 1000);
  CheckError(demo.Packed(1), ErrorCode::kDataLoss, "demo.packed: cut short: it has");
}

TEST_CASE("ranks take their parts of what the cache of packed files has, and write nothing there") {
  const DemoParts demo;
  const auto cache = demo.folder.path() / "cache";
  LoadOptions options = demo.Options(1);
  options.cache_folder = cache;
  const auto load = [&] { return LoadWeights(demo.checkpoint, demo.spec, "a model", options); };
  CHECK(CheckSame(*load(), demo.Expected(1)) == 0);
  CHECK_FALSE(std::filesystem::exists(cache));
  options.share = {};
  REQUIRE(load());
  options.share = {1, 2};
  CHECK(CheckSame(*load(), demo.Expected(1)) > 0);
}

}  // namespace packed_parts_test
}  // namespace skald::testing
