// SPDX-License-Identifier: Apache-2.0
//
// Packed files: weights as kernels read them, written once and mapped into memory from then on. Opening one reads a
// table of a few kilobytes; the parameters are shared, through the page cache, by all processes that map the file.

#ifndef SKALD_WEIGHTS_PACKED_FILE_H_
#define SKALD_WEIGHTS_PACKED_FILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/numeric.h"
#include "skald/base/printable.h"
#include "skald/base/result.h"
#include "skald/base/small_file.h"
#include "skald/base/thread_pool.h"
#include "skald/base/xxh64.h"
#include "skald/weights/build_weights.h"
#include "skald/weights/mapped_file.h"
#include "skald/weights/matrix.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/packed_format.h"
#include "skald/weights/weight_shapes.h"

namespace skald {

// Immutable, safe for concurrent use. A file that is mapped must not be written to while it is open; WritePackedFile
// puts a new one in its place instead.
class PackedFile {
 public:
  // Whether the file at `path` begins as packed files do.
  static bool Recognises(const std::filesystem::path& path) noexcept {
    return FileBeginsWith(path, {PackedHeader::kMagic.data(), PackedHeader::kMagic.size()});
  }

  // Maps the file, or reads it with Use::kCopy, and checks header and table: which model it is of, and that it is as
  // long as it should be. The rest is compared with its checksums only by Attachment and Verify. Errors: those of
  // MappedFile and ParsePacked.
  static Result<std::shared_ptr<const PackedFile>> Open(const std::filesystem::path& path,
                                                        MappedFile::Use use = MappedFile::Use::kKeep) {
    return NoThrow(path.native(), [&]() -> Result<std::shared_ptr<const PackedFile>> {
      auto map = MappedFile::Open(path, use);
      if (!map) return Failure(std::move(map.error()));
      auto table = ParsePacked(path.string(), map->bytes());
      if (!table) return Failure(std::move(table.error()));
      return std::shared_ptr<const PackedFile>(new PackedFile(path, std::move(*map), std::move(*table)));
    });
  }

  const PackedTable& table() const { return table_; }
  const std::filesystem::path& path() const { return path_; }

  // Of the file when it was opened: see MappedFile.
  const struct stat& status() const { return map_.status(); }
  bool is_trusted() const { return map_.is_trusted(); }

  // Which is another one whenever anything in the header or the table is.
  uint64_t header_checksum() const {
    return internal::LoadLittleEndian<uint64_t>(map_.bytes().data() + offsetof(PackedHeader, checksum));
  }

  std::span<const std::byte> BytesOf(const PackedRange& range) const {
    return map_.bytes().subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.bytes));
  }

  // The content of the attached file of this name; kNotFound if there is none, kDataLoss if it is damaged.
  Result<std::string_view> Attachment(std::string_view name) const {
    return NoThrow(path_.native(), [&]() -> Result<std::string_view> {
      const auto found = std::ranges::find(table_.attachments, name, &PackedAttachment::name);
      if (found == table_.attachments.end()) {
        return Fail(ErrorCode::kNotFound, Concat({path_.string(), ": has no ", name, " packed into it"}));
      }
      if (!IsWhole(found->range)) return Damaged(name);
      const auto bytes = BytesOf(found->range);
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
  }

  // Reads everything, on `threads` threads, and compares it with its checksums; the padding must be zeros. Error:
  // kDataLoss, naming what is damaged.
  Result<void> Verify(unsigned threads = 1) const {
    return NoThrow(path_.native(), [&]() -> Result<void> {
      std::vector<PackedRange> ranges;
      for (const PackedAttachment& attachment : table_.attachments) ranges.push_back(attachment.range);
      for (const PackedParameter& parameter : table_.parameters) ranges.push_back(parameter.range);
      std::vector<uint8_t> is_whole(ranges.size());
      const auto check = [&](size_t i) {
        const uint64_t end = i == 0 ? EndOfTable() : ranges[i - 1].offset + ranges[i - 1].bytes;
        const auto padding = BytesOf({end, ranges[i].offset - end});
        const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
        is_whole[i] = std::ranges::all_of(padding, is_zero) && IsWhole(ranges[i]);
      };
      ThreadPool pool(threads);
      pool.Run(ranges.size(), check);
      const size_t damaged = static_cast<size_t>(std::ranges::find(is_whole, 0) - is_whole.begin());
      if (damaged == ranges.size()) return {};
      const size_t attachments = table_.attachments.size();
      return Damaged(damaged < attachments ? table_.attachments[damaged].name
                                           : Concat({"parameter ", std::to_string(damaged - attachments)}));
    });
  }

 private:
  PackedFile(std::filesystem::path path, MappedFile map, PackedTable table)
      : path_(std::move(path)), map_(std::move(map)), table_(std::move(table)) {}

  bool IsWhole(const PackedRange& range) const { return Xxh64(BytesOf(range)) == range.checksum; }

  Failure Damaged(std::string_view name) const {
    return Fail(ErrorCode::kDataLoss, Concat({path_.string(), ": ", Printable(name), " is damaged; pack it again"}));
  }

  uint64_t EndOfTable() const {
    const std::byte* const table_bytes = map_.bytes().data() + offsetof(PackedHeader, table_bytes);
    return sizeof(PackedHeader) + internal::LoadLittleEndian<uint64_t>(table_bytes);
  }

  std::filesystem::path path_;
  MappedFile map_;
  PackedTable table_;
};

namespace internal {

// A source of BuildWeights for parameters that have a shape and no bytes.
struct ShapesOnly {
  static Matrix MakeMatrix(size_t rows, size_t cols) {
    Matrix matrix;
    matrix.rows = rows;
    matrix.cols = cols;
    return matrix;
  }
  static std::vector<float> MakeVector(size_t size, float /*center*/, float /*spread*/ = 0.0f) {
    return std::vector<float>(size);
  }
};

// Fills parameters, in the order of the table, with those of the file.
class ParameterMapper {
 public:
  explicit ParameterMapper(std::shared_ptr<const PackedFile> file) : file_(std::move(file)) {}

  void operator()(Matrix& matrix) {
    const PackedParameter* const found = Next(matrix.rows, matrix.cols);
    if (found == nullptr) return;
    const auto dtype = static_cast<DType>(found->dtype);
    const bool is_type = NameOf(dtype) != "unknown" && dtype != DType::kF16;
    const bool is_whole = is_type && found->range.bytes == Matrix::BytesOf(matrix.rows, matrix.cols, dtype);
    if (!is_whole) return Refuse();
    matrix = Matrix(matrix.rows, matrix.cols, dtype, MatrixBytes(file_->BytesOf(found->range), file_));
  }

  void operator()(std::vector<float>& vector) {
    const PackedParameter* const found = Next(vector.size(), 0);
    if (found == nullptr) return;
    if (found->range.bytes != vector.size() * sizeof(float)) return Refuse();
    if (!vector.empty()) std::memcpy(vector.data(), file_->BytesOf(found->range).data(), vector.size() * sizeof(float));
  }

  bool Finished() const { return fits_ && next_ == file_->table().parameters.size(); }

 private:
  // Returns the next parameter of the file, or null if it is not of that shape.
  const PackedParameter* Next(size_t rows, size_t cols) {
    const auto& parameters = file_->table().parameters;
    const bool fits = next_ < parameters.size() && parameters[next_].rows == rows && parameters[next_].cols == cols &&
                      parameters[next_].dtype <= UINT8_MAX;
    if (fits) return &parameters[next_++];
    Refuse();
    return nullptr;
  }

  void Refuse() { fits_ = false; }

  std::shared_ptr<const PackedFile> file_;
  size_t next_ = 0;
  bool fits_ = true;
};

}  // namespace internal

// Returns the weights in `file`, whose matrices lie in its mapping and keep it alive. Errors: kInvalidArgument where it
// was packed for other shapes than `shapes`, kDataLoss where it contradicts itself.
inline Result<ModelWeights> MapWeights(const std::shared_ptr<const PackedFile>& file, const WeightShapes& shapes) {
  return NoThrow(file->path().native(), [&]() -> Result<ModelWeights> {
    const PackedTable& table = file->table();
    if (table.shapes != Fingerprint(shapes)) {
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({file->path().string(), ": packed for the Config ", Printable(table.config),
                          ", expected one with the shapes of the Config it is loaded for"}));
    }
    internal::ShapesOnly source;
    ModelWeights weights = BuildWeights(shapes, source);
    weights.dtype = table.dtype;
    internal::ParameterMapper map(file);
    VisitParameters(weights, std::ref(map));
    if (map.Finished()) return weights;
    return Fail(ErrorCode::kDataLoss, Concat({file->path().string(), ": its parameters are not those of the Config ",
                                              Printable(table.config)}));
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILE_H_
