// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_file.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FILE_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FILE_H_

#include "skald/weights/packed_files/packed_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/weights/packing/copy_rows.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/types/column_inputs.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

SKALD_INLINE bool PackedFile::Recognises(std::span<const std::byte> image) noexcept {
  const std::string_view magic(PackedHeader::kMagic.data(), PackedHeader::kMagic.size());
  return std::string_view(reinterpret_cast<const char*>(image.data()), image.size()).starts_with(magic);
}

SKALD_INLINE Result<std::shared_ptr<const PackedFile>> PackedFile::Open(const std::filesystem::path& path,
                                                                        MappedFile::Use use) {
  SKALD_ASSIGN(auto map, MappedFile::Open(path, use));
  return From(path, std::move(map));
}

SKALD_INLINE Result<std::shared_ptr<const PackedFile>> PackedFile::From(const std::filesystem::path& path,
                                                                        MappedFile map) {
  return NoThrow(PathText(path), [&]() -> Result<std::shared_ptr<const PackedFile>> {
    SKALD_ASSIGN(auto table, ParsePacked(PathText(path), map.bytes()));
    return std::shared_ptr<const PackedFile>(new PackedFile(path, std::move(map), std::move(table)));
  });
}

SKALD_INLINE uint64_t PackedFile::header_checksum() const {
  return internal::LoadLittleEndian<uint64_t>(map_.bytes().data() + offsetof(PackedHeader, checksum));
}

SKALD_INLINE std::span<const std::byte> PackedFile::BytesOf(const PackedRange& range) const {
  return map_.bytes().subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.bytes));
}

SKALD_INLINE Result<std::string_view> PackedFile::Attachment(std::string_view name) const {
  return NoThrow(PathText(path_), [&]() -> Result<std::string_view> {
    const auto found = std::ranges::find(table_.attachments, name, &PackedAttachment::name);
    if (found == table_.attachments.end()) {
      return Fail(ErrorCode::kNotFound, Concat({PathText(path_), ": has no ", name, " packed into it"}));
    }
    if (!IsWhole(found->range)) return Damaged(name);
    const auto bytes = BytesOf(found->range);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

SKALD_INLINE Result<void> PackedFile::Verify(unsigned threads) const {
  return NoThrow(PathText(path_), [&]() -> Result<void> {
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

SKALD_INLINE bool PackedFile::IsWhole(const PackedRange& range) const {
  return Xxh64(BytesOf(range)) == range.checksum;
}

SKALD_INLINE Failure PackedFile::Damaged(std::string_view name) const {
  return Fail(ErrorCode::kDataLoss, Concat({PathText(path_), ": ", Printable(name), " is damaged; pack it again"}));
}

SKALD_INLINE uint64_t PackedFile::EndOfTable() const {
  const std::byte* const table_bytes = map_.bytes().data() + offsetof(PackedHeader, table_bytes);
  return sizeof(PackedHeader) + internal::LoadLittleEndian<uint64_t>(table_bytes);
}

namespace internal {

// Visits the parameters of a file together with those of a list, which calls it with one after the other.
class ParameterMapper {
 public:
  // Matrices that can be used in place are if `in_place`; others are copied.
  ParameterMapper(std::shared_ptr<const PackedFile> file, const RankShare& share, bool in_place)
      : file_(std::move(file)), share_(share), in_place_(in_place) {}

  // Takes the content of the file's next parameter for one that Fits.
  void operator()(const MatrixParameter& parameter) {
    const PartitionedRows here = RowsHere(parameter, share_);
    const PackedParameter& found = Next();
    *parameter.target = TakeRows(found, here.ranges);
    parameter.target->row_scale = (found.inputs & PackedParameter::kRowScale) != 0;
    if (here.division == nullptr) return;
    const auto dtype = static_cast<DType>(found.dtype);
    const std::byte* const whole = file_->BytesOf(found.range).data();
    here.division->known_by = Xxh64(CopyRows(whole, dtype, found.cols, here.first, InputsOf(found)).data);
    parameter.target->division = here.division;
  }
  void operator()(const BlocksParameter& parameter) {
    ForEachBlock(parameter, [&](const Part& part, size_t, Matrix* target) {
      const PartitionedRange all = {0, part.rows};
      const PackedParameter& found = Next();
      if (target != nullptr) *target = TakeRows(found, {&all, 1});
    });
  }
  void operator()(const VectorParameter& parameter) {
    const PackedParameter& found = Next();
    parameter.target->resize(parameter.size());
    if (found.rows > 0) std::memcpy(parameter.target->data(), file_->BytesOf(found.range).data(), found.range.bytes);
    KeepPartitioned(parameter, share_);
  }

  // Whether the file's parameters are those of the whole model of `list`, up to the end of the list.
  bool Fits(const ParameterList& list) {
    next_ = 0;
    const auto fits = [&](const Parameter& parameter) {
      return std::visit([&](const auto& value) { return NextFits(value); }, parameter.value);
    };
    const bool all_fit = std::ranges::all_of(list.parameters(), fits);
    return std::exchange(next_, 0) == file_->table().parameters.size() && all_fit;
  }

 private:
  const PackedParameter& Next() { return file_->table().parameters[next_++]; }

  // A matrix or, with no columns, a vector. One of the layers' types that MatMul alone reads may have ColumnInputs, and
  // inputs with a scale for each row.
  bool NextFits(size_t rows, size_t cols, bool may_change_inputs = false) {
    if (next_ == file_->table().parameters.size()) return false;
    const PackedParameter& found = Next();
    if (found.rows != rows || found.cols != cols || found.dtype > UINT8_MAX) return false;
    if (cols == 0) return found.range.bytes == rows * sizeof(float) && found.inputs == 0;
    const auto dtype = static_cast<DType>(found.dtype);
    const bool is_type = NameOf(dtype) != "unknown" && IsWeightType(dtype);
    const uint64_t row_scale = IsGrouped(dtype) ? PackedParameter::kRowScale : 0;
    const uint64_t may_be = row_scale | PackedParameter::kOrder | PackedParameter::kFactors;
    if (!is_type || (found.inputs & ~(may_change_inputs ? may_be : 0)) != 0) return false;
    const size_t of_inputs = Matrix::InputBytes(cols, HasOrder(found), HasFactors(found));
    if (found.range.bytes != Matrix::BytesOf(rows, cols, dtype) + of_inputs) return false;
    return std::ranges::all_of(InputsOf(found).order, [&](uint32_t input) { return input < cols; });
  }

  bool NextFits(const MatrixParameter& parameter) {
    return NextFits(parameter.rows(), parameter.cols, !parameter.looked_up && !parameter.dtype);
  }
  bool NextFits(const BlocksParameter& parameter) {
    bool fits = true;
    for (const Part& part : parameter.parts) {
      for (size_t i = 0; i < parameter.count; ++i) fits = fits && NextFits(part.rows, parameter.cols);
    }
    return fits;
  }
  bool NextFits(const VectorParameter& parameter) { return NextFits(parameter.size(), 0); }

  static bool HasOrder(const PackedParameter& found) { return (found.inputs & PackedParameter::kOrder) != 0; }
  static bool HasFactors(const PackedParameter& found) { return (found.inputs & PackedParameter::kFactors) != 0; }

  ColumnInputs InputsOf(const PackedParameter& found) const {
    const size_t cols = static_cast<size_t>(found.cols);
    const std::byte* from = file_->BytesOf(found.range).data();
    from += Matrix::BytesOf(static_cast<size_t>(found.rows), cols, static_cast<DType>(found.dtype));
    ColumnInputs inputs;
    if (HasOrder(found)) inputs.order = {reinterpret_cast<const uint32_t*>(from), cols};
    from += inputs.size_bytes();
    if (HasFactors(found)) inputs.factors = {reinterpret_cast<const float*>(from), cols};
    return inputs;
  }

  // Rows of a matrix. Consecutive whole panels are used in place, and those before the inputs of columns, if they have
  // such.
  Matrix TakeRows(const PackedParameter& found, std::span<const PartitionedRange> ranges) const {
    const auto dtype = static_cast<DType>(found.dtype);
    const std::span<const std::byte> whole = file_->BytesOf(found.range);
    const ColumnInputs inputs = InputsOf(found);
    const bool ends = ranges.back().end == found.rows, ends_panel = ranges.back().end % kLanes == 0 && inputs.empty();
    if (!in_place_ || ranges.size() != 1 || ranges.front().begin % kLanes != 0 || !(ends || ends_panel)) {
      return CopyRows(whole.data(), dtype, found.cols, ranges, inputs);
    }
    const size_t begin = Matrix::BytesOf(ranges.front().begin, found.cols, dtype);
    const size_t bytes = Matrix::BytesOf(ranges.front().size(), found.cols, dtype) + inputs.size_bytes();
    const auto part = whole.subspan(begin, bytes);
    file_->WillRead(part);
    return Matrix(ranges.front().size(), found.cols, dtype, MatrixBytes(part, file_), HasOrder(found),
                  HasFactors(found));
  }

  std::shared_ptr<const PackedFile> file_;
  const RankShare share_;
  const bool in_place_;
  size_t next_ = 0;
};

}  // namespace internal

SKALD_INLINE Result<void> MapParameters(const std::shared_ptr<const PackedFile>& file, const ParameterList& list,
                                        uint64_t model, bool in_place) {
  return NoThrow(PathText(file->path()), [&]() -> Result<void> {
    const PackedTable& table = file->table();
    if (table.model != model) {
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({PathText(file->path()), ": packed for the model ", Printable(table.name),
                          ", expected one that computes as the model it is loaded for"}));
    }
    internal::ParameterMapper mapper(file, list.share(), in_place);
    if (!mapper.Fits(list)) {
      return Fail(ErrorCode::kDataLoss, Concat({PathText(file->path()), ": its parameters are not those of the model ",
                                                Printable(table.name)}));
    }
    for (const Parameter& parameter : list.parameters()) std::visit(mapper, parameter.value);
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_FILE_H_
