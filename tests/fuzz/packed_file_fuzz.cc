// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of packed files. The first byte of the input chooses how the rest is used: unchanged, or with all
// sizes and checksums corrected, so that mutations reach the content after them; mapped, or read into memory. Loaded
// weights must be whole: of the requested shapes, with every byte readable.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/model/load.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packed_files/packed_format.h"
#include "skald/weights/parameters.h"
#include "tests/fuzz/packed_model.h"
#include "tests/support/temporary_folder.h"

namespace skald {
namespace {

using testing::FuzzedModel;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Makes header and checksums those of what the file holds, as far as it can be told.
void Repair(std::span<std::byte> image) {
  PackedHeader header;
  if (image.size() < sizeof(header)) return;
  std::memcpy(&header, image.data(), sizeof(header));
  header.file_bytes = image.size();
  const std::span<std::byte> rest = image.subspan(sizeof(header));
  if (header.table_bytes > rest.size()) header.table_bytes = rest.size();
  const std::span<std::byte> bytes = rest.first(static_cast<size_t>(header.table_bytes));
  PackedTable table;
  if (internal::ReadTable(bytes, table)) {
    const auto repair = [image](PackedRange& range) {
      if (range.offset > image.size() || range.bytes > image.size() - range.offset) return;
      range.checksum = Xxh64(image.subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.bytes)));
    };
    for (PackedAttachment& attachment : table.attachments) repair(attachment.range);
    for (PackedParameter& parameter : table.parameters) repair(parameter.range);
    const std::vector<std::byte> repaired = internal::TableBytes(table);
    Require(repaired.size() == bytes.size());
    std::memcpy(bytes.data(), repaired.data(), repaired.size());
  }
  header.table_checksum = Xxh64(bytes);
  header.checksum = internal::ChecksumOf(header);
  std::memcpy(image.data(), &header, sizeof(header));
}

// Looks at every parameter.
uint64_t SumOf(const ModelWeights& weights) {
  uint64_t sum = 0;
  ForEachArray(
      ParametersOf(weights),
      [&](const Matrix& matrix, size_t, size_t) {
        const size_t of_inputs = Matrix::InputBytes(matrix.cols, matrix.has_order, matrix.has_factors);
        Require(matrix.data.size() == Matrix::BytesOf(matrix.rows, matrix.cols, matrix.dtype) + of_inputs);
        for (const uint32_t input : matrix.order()) Require(input < matrix.cols);
        sum += Xxh64(matrix.data);
      },
      [&](const std::vector<float>& vector, size_t size) {
        Require(vector.size() == size);
        sum += Xxh64(std::as_bytes(std::span(vector)));
      });
  return sum;
}

void LoadFile(const std::filesystem::path& path, bool map) {
  const auto file = PackedFile::Open(path);
  if (!file) return Require(!file.error().message.empty());
  for (const PackedAttachment& attachment : (*file)->table().attachments) (void)(*file)->Attachment(attachment.name);
  const auto weights = LoadWeights<FuzzedModel>(
      path, {.dtype = (*file)->table().dtype, .packed_check = PackedCheck::kAlways, .map = map});
  if (!weights) return Require(!weights.error().message.empty());
  Require((*file)->Verify().has_value());
  (void)SumOf(*weights);
  Require(weights->embedding.rows == FuzzedModel::kVocabSize && weights->embedding.cols == FuzzedModel::kModelDim);
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const skald::testing::TemporaryFolder folder;
  const auto path = folder.path() / "packed";
  std::vector<std::byte> image(size - 1);
  if (size > 1) std::memcpy(image.data(), data + 1, size - 1);
  if ((data[0] & 1) != 0) skald::Repair(image);
  skald::testing::WriteFile(path, {reinterpret_cast<const char*>(image.data()), image.size()});
  skald::LoadFile(path, (data[0] & 2) == 0);
  return 0;
}
