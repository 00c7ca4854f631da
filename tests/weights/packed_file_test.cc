// SPDX-License-Identifier: Apache-2.0
//
// Packed files: what was written is what is mapped, bit for bit, and what was damaged, cut or meant for something else
// is refused.

#include "skald/weights/packed_files/packed_file.h"
#include "skald/base/numbers/xxh64.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/quantised_types.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace packed_file_test {

using testing::CheckError;
using testing::SameWeights;
using testing::TemporaryFolder;
using testing::TinyFull;

template <ModelConfig C>
PackedOrigin OriginOf(DType dtype = DType::kBF16) {
  return {C::kName, Fingerprint(SpecOf<C>()), dtype, "source", {{"a.txt", "first"}, {"b.txt", ""}}};
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

PackedTable TableOf(const std::string& image) { return *ParsePacked("image", std::as_bytes(std::span(image))); }

// A packed file of TinyFull, and variations of it.
struct TinyPacked {
  TinyPacked() {
    REQUIRE(WritePackedFile(path, ParametersOf(weights), OriginOf<TinyFull>()));
    image = ReadFile(path);
  }

  // The file is removed first: others may still have it mapped.
  Result<ModelWeights> Load(const std::string& changed) const {
    std::filesystem::remove(path);
    testing::WriteFile(path, changed);
    return LoadWeights<TinyFull>(path);
  }

  // The image with a header changed by `change` and made whole again.
  template <class Change>
  std::string WithHeader(Change change) const {
    PackedHeader header;
    std::memcpy(&header, image.data(), sizeof(header));
    change(header);
    header.checksum = internal::ChecksumOf(header);
    std::string changed = image;
    std::memcpy(changed.data(), &header, sizeof(header));
    return changed;
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "tiny.packed";
  ModelWeights weights = RandomWeights<TinyFull>(3);
  std::string image;
};

template <ModelConfig C>
void CheckRoundTrip(DType dtype) {
  CAPTURE(C::kName);
  const TemporaryFolder folder;
  const auto path = folder.path() / "packed";
  const ModelWeights weights = RandomWeights<C>(1, dtype);
  REQUIRE(WritePackedFile(path, ParametersOf(weights), OriginOf<C>(dtype)));
  const Result<ModelWeights> once = LoadWeights<C>(path, {.dtype = dtype});
  const Result<ModelWeights> twice = LoadWeights<C>(path, {.dtype = dtype});
  REQUIRE(once);
  REQUIRE(twice);
  CHECK(SameWeights(*once, weights));
  CHECK(SameWeights(*twice, weights));
  CHECK((*PackedFile::Open(path))->Verify());
}

TEST_CASE("what is mapped is what was written, for every kind of layer and element type") {
  std::vector<DType> types = {DType::kBF16, DType::kF32};
  types.insert(types.end(), testing::kCodedTypes.begin(), testing::kCodedTypes.end());
  for (const DType dtype : types) {
    CheckRoundTrip<TinyFull>(dtype);
    CheckRoundTrip<testing::TinyTied>(dtype);
    CheckRoundTrip<testing::TinyHybrid>(dtype);
    CheckRoundTrip<testing::TinyMambaModel>(dtype);
  }
}

TEST_CASE("an order of columns and factors are written and mapped, and refused of embeddings and of other columns") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "packed";
  ModelWeights weights = RandomWeights<TinyFull>(1);
  const Matrix& down = testing::FeedForwardOf(weights, 0).Of<GatedFeedForward>().down;
  Matrix& matrix = const_cast<Matrix&>(down);
  std::vector<uint32_t> order(matrix.cols);
  std::vector<float> factors(matrix.cols);
  for (size_t k = 0; k < order.size(); ++k) {
    order[k] = static_cast<uint32_t>(order.size() - 1 - k), factors[k] = 0.5f + static_cast<float>(k);
  }
  const auto write = [&](const ColumnInputs& inputs) {
    Matrix changed(matrix.rows, matrix.cols, matrix.dtype, inputs);
    std::memcpy(changed.data.data(), matrix.bytes(), Matrix::BytesOf(matrix.rows, matrix.cols, matrix.dtype));
    matrix = std::move(changed);
    CHECK(WritePackedFile(path, ParametersOf(weights), OriginOf<TinyFull>()));
  };
  for (const ColumnInputs& inputs :
       {ColumnInputs{order, {}}, ColumnInputs{{}, factors}, ColumnInputs{order, factors}, ColumnInputs{}}) {
    write(inputs);
    CHECK(matrix.inputs() == inputs);
    const Result<ModelWeights> loaded = LoadWeights<TinyFull>(path);
    REQUIRE(loaded);
    CHECK(SameWeights(*loaded, weights));
    CHECK(testing::FeedForwardOf(*loaded, 0).Of<GatedFeedForward>().down.inputs() == inputs);
  }
  write({});
  Matrix& embedding = weights.embedding;
  embedding = Matrix(embedding.rows, embedding.cols, embedding.dtype, {{}, std::span(factors).first(embedding.cols)});
  CHECK(WritePackedFile(path, ParametersOf(weights), OriginOf<TinyFull>()));
  CheckError(LoadWeights<TinyFull>(path), ErrorCode::kDataLoss, "its parameters are not those of the model");
  embedding = Matrix(embedding.rows, embedding.cols, embedding.dtype);
  order[3] = static_cast<uint32_t>(order.size());
  write({order, factors});
  CheckError(LoadWeights<TinyFull>(path), ErrorCode::kDataLoss, "its parameters are not those of the model");
}

TEST_CASE("that inputs have a scale for each row is written and mapped, and refused of floats") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "packed";
  for (const DType dtype : {DType::kQ8_0, DType::kF32}) {
    ModelWeights weights = RandomWeights<TinyFull>(1, dtype);
    const_cast<Matrix&>(testing::FeedForwardOf(weights, 0).Of<GatedFeedForward>().down).row_scale = true;
    REQUIRE(WritePackedFile(path, ParametersOf(weights), OriginOf<TinyFull>(dtype)));
    const Result<ModelWeights> loaded = LoadWeights<TinyFull>(path, {.dtype = dtype});
    if (dtype == DType::kQ8_0) {
      REQUIRE(loaded);
      CHECK(SameWeights(*loaded, weights));
    } else {
      CheckError(loaded, ErrorCode::kDataLoss, "its parameters are not those of the model");
    }
  }
}

TEST_CASE("mapped matrices are aligned, and outlive the file's name") {
  TinyPacked packed;
  auto weights = LoadWeights<TinyFull>(packed.path);
  REQUIRE(weights);
  std::filesystem::remove(packed.path);
  const Matrix embedding = std::move(weights->embedding);
  weights = RandomWeights<TinyFull>(9);
  CHECK(reinterpret_cast<uintptr_t>(embedding.data.data()) % kAlignment == 0);
  CHECK(testing::SameMatrix(embedding, packed.weights.embedding));
}

TEST_CASE("weights that were read instead of mapped do not care for the file any more") {
  TinyPacked packed;
  const auto weights = LoadWeights<TinyFull>(packed.path, {.map = false});
  REQUIRE(weights);
  std::filesystem::resize_file(packed.path, 10);
  CHECK(SameWeights(*weights, packed.weights));
  CHECK(reinterpret_cast<uintptr_t>(weights->embedding.data.data()) % kAlignment == 0);
}

TEST_CASE("attached files come back") {
  TinyPacked packed;
  const auto file = PackedFile::Open(packed.path);
  REQUIRE(file);
  CHECK((*file)->table().name == TinyFull::kName);
  CHECK((*file)->table().source == "source");
  CHECK((*file)->Attachment("a.txt") == "first");
  CHECK((*file)->Attachment("b.txt") == "");
  CheckError((*file)->Attachment("c.txt"), ErrorCode::kNotFound, "has no c.txt");
}

TEST_CASE("a file that is cut short anywhere is refused") {
  TinyPacked packed;
  for (size_t size = 0; size < packed.image.size(); ++size) {
    const auto loaded = packed.Load(packed.image.substr(0, size));
    REQUIRE_FALSE(loaded);
    REQUIRE(loaded.error().code == ErrorCode::kDataLoss);
  }
  CheckError(packed.Load(packed.image.substr(0, packed.image.size() - 1)), ErrorCode::kDataLoss, "cut short");
  CheckError(packed.Load(packed.image + "x"), ErrorCode::kDataLoss, "expected");
  CHECK(packed.Load(packed.image));
}

TEST_CASE("no byte of a packed file can change unnoticed") {
  TinyPacked packed;
  PackedHeader header;
  std::memcpy(&header, packed.image.data(), sizeof(header));
  const size_t table_end = sizeof(header) + header.table_bytes;
  const auto check = [&](size_t at, char change) {
    std::string damaged = packed.image;
    damaged[at] ^= change;
    const auto loaded = packed.Load(damaged);
    CAPTURE(at);
    REQUIRE_FALSE(loaded);
    REQUIRE(loaded.error().code == ErrorCode::kDataLoss);
  };
  for (size_t i = 0; i < table_end; ++i) check(i, 4);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) check(random() % packed.image.size(), static_cast<char>(1 << random() % 8));
  // Also in each parameter, however small, and in the padding before it.
  const auto table = TableOf(packed.image);
  for (const PackedParameter& parameter : table.parameters) {
    if (parameter.range.bytes == 0) continue;
    check(parameter.range.offset + parameter.range.bytes / 2, 1);
    if (packed.image[parameter.range.offset - 1] == 0) check(parameter.range.offset - 1, 1);
  }
  CHECK(packed.Load(packed.image));
}

TEST_CASE("what is damaged is named, on any number of threads") {
  TinyPacked packed;
  const auto table = TableOf(packed.image);
  const auto damage = [&packed](const PackedRange& range) {
    std::string damaged = packed.image;
    damaged[range.offset] ^= 1;
    REQUIRE_FALSE(packed.Load(damaged));
    return *PackedFile::Open(packed.path);
  };
  const auto file = damage(table.attachments[0].range);
  CheckError(file->Attachment("a.txt"), ErrorCode::kDataLoss, "a.txt is damaged; pack it again");
  CHECK(file->Attachment("b.txt"));
  for (const unsigned threads : {1u, 3u}) {
    CheckError(file->Verify(threads), ErrorCode::kDataLoss, "a.txt is damaged");
    CheckError(damage(table.parameters[2].range)->Verify(threads), ErrorCode::kDataLoss, "parameter 2 is damaged");
  }
}

TEST_CASE("files of other versions, CPUs, Configs and element types are refused with the reason") {
  TinyPacked packed;
  CheckError(packed.Load(packed.WithHeader([](PackedHeader& header) { header.byte_order = 0x04030201; })),
             ErrorCode::kUnsupported, "another kind of CPU");
  CheckError(packed.Load(packed.WithHeader([](PackedHeader& header) { ++header.format_version; })),
             ErrorCode::kUnsupported, "version 6 of the format of packed files");
  CheckError(packed.Load(packed.WithHeader([](PackedHeader& header) { ++header.layout_version; })),
             ErrorCode::kUnsupported, "layout of matrices");
  CHECK(packed.Load(packed.image));
  CheckError(LoadWeights<testing::TinyModel>(packed.path), ErrorCode::kInvalidArgument, "packed for the model tiny");
  CheckError(LoadWeights<TinyFull>(packed.path, {.dtype = DType::kF32}), ErrorCode::kInvalidArgument,
             "packed as BF16, but LoadOptions::dtype is F32");
}

TEST_CASE("a table that contradicts the Config is refused even where its checksums are right") {
  TinyPacked packed;
  const auto rewritten = [&packed](auto change) {
    PackedTable table = (*PackedFile::Open(packed.path))->table();
    change(table);
    const auto bytes = internal::TableBytes(table);
    std::string changed = packed.WithHeader([&](PackedHeader& header) { header.table_checksum = Xxh64(bytes); });
    std::memcpy(changed.data() + sizeof(PackedHeader), bytes.data(), bytes.size());
    auto loaded = packed.Load(changed);
    REQUIRE(packed.Load(packed.image));
    return loaded;
  };
  const auto check = [&](auto change) { CheckError(rewritten(change), ErrorCode::kDataLoss, "parameters"); };
  check([](PackedTable& table) { ++table.parameters[0].rows; });
  check([](PackedTable& table) { --table.parameters[0].cols; });
  check([](PackedTable& table) { table.parameters[0].range.bytes -= 64; });
  check([](PackedTable& table) { table.parameters[0].dtype = 200; });
  check([](PackedTable& table) { table.parameters[0].dtype = 1 << 20; });
  check([](PackedTable& table) { table.parameters[0].range.offset += 4; });
  check([](PackedTable& table) { table.parameters[0].range.offset = uint64_t{1} << 62; });
  check([](PackedTable& table) { table.parameters[0].range.bytes = ~uint64_t{0}; });
  CHECK(rewritten([](PackedTable&) {}));
}

}  // namespace packed_file_test
}  // namespace skald
