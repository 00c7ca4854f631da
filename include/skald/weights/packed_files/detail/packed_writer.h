// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_writer.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_WRITER_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_WRITER_H_

#include "skald/weights/packed_files/packed_writer.h"

#include <cstddef>
#include <span>

#include "skald/base/aligned_buffer.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/weights/packed_files/packed_format.h"
#include "skald/weights/types/matrix.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

namespace internal {

// Assigns offsets to contents one after the other, from `begin` on.
class PackedArrangement {
 public:
  explicit PackedArrangement(uint64_t begin) : end_(begin) {}

  PackedRange Add(std::span<const std::byte> content) {
    const PackedRange range{PackedOffset(end_, content.size()), content.size(), Xxh64(content)};
    end_ = range.offset + range.bytes;
    return range;
  }

  uint64_t end() const { return end_; }

 private:
  uint64_t end_;
};

// A packed file before it is written.
struct PackedPlan {
  PackedTable table;
  std::vector<std::span<const std::byte>> contents;  // of the attachments, then of the parameters

  void Add(const Matrix& matrix) {
    const uint64_t inputs = (matrix.row_scale ? PackedParameter::kRowScale : 0) |
                            (matrix.has_order ? PackedParameter::kOrder : 0) |
                            (matrix.has_factors ? PackedParameter::kFactors : 0);
    table.parameters.push_back({matrix.rows, matrix.cols, static_cast<uint64_t>(matrix.dtype), inputs, {}});
    contents.push_back(matrix.data);
  }
  void Add(const std::vector<float>& vector) {
    table.parameters.push_back({vector.size(), 0, static_cast<uint64_t>(DType::kF32), 0, {}});
    contents.push_back(std::as_bytes(std::span(vector)));
  }

  // The table's ranges, in the order of `contents`.
  std::vector<PackedRange*> Ranges() {
    std::vector<PackedRange*> ranges;
    for (PackedAttachment& attachment : table.attachments) ranges.push_back(&attachment.range);
    for (PackedParameter& parameter : table.parameters) ranges.push_back(&parameter.range);
    return ranges;
  }
};

// Refers to the weights of `list` and to `origin`.
inline PackedPlan PlanPackedFile(const ParameterList& list, const PackedOrigin& origin) {
  PackedPlan plan;
  plan.table.name = origin.name;
  plan.table.source = origin.source;
  plan.table.model = origin.model;
  plan.table.dtype = origin.dtype;
  for (const auto& [name, content] : origin.attachments) {
    plan.table.attachments.push_back({name, {}});
    plan.contents.push_back(std::as_bytes(std::span(content)));
  }
  ForEachArray(
      list, [&](const Matrix& matrix, size_t, size_t) { plan.Add(matrix); },
      [&](const std::vector<float>& vector, size_t) { plan.Add(vector); });
  return plan;
}

// Fills the gap to `offset` with zeros, then writes `content`.
inline Result<void> WriteAt(uint64_t offset, std::span<const std::byte> content, uint64_t& position, FileSink& sink) {
  static constexpr std::byte kZeros[kPageBytes] = {};
  if (auto written = sink.Write(std::span(kZeros).first(static_cast<size_t>(offset - position))); !written) {
    return written;
  }
  position = offset + content.size();
  return sink.Write(content);
}

}  // namespace internal

SKALD_INLINE Result<void> WritePackedFile(const std::filesystem::path& path, const ParameterList& list,
                                          const PackedOrigin& origin) {
  return NoThrow(PathText(path), [&]() -> Result<void> {
    internal::PackedPlan plan = internal::PlanPackedFile(list, origin);
    const std::vector<PackedRange*> ranges = plan.Ranges();
    PackedHeader header;
    header.table_bytes = internal::TableBytes(plan.table).size();  // its size does not depend on the ranges
    internal::PackedArrangement arrangement(sizeof(header) + header.table_bytes);
    for (size_t i = 0; i < ranges.size(); ++i) *ranges[i] = arrangement.Add(plan.contents[i]);
    header.file_bytes = arrangement.end();
    const std::vector<std::byte> table = internal::TableBytes(plan.table);
    header.table_checksum = Xxh64(table);
    header.checksum = internal::ChecksumOf(header);

    auto sink = FileSink::CreateAnew(path, 0644);  // weights are not secret
    if (!sink) return Failure(sink.error());
    SKALD_TRY(sink->Write(std::as_bytes(std::span(&header, 1))));
    SKALD_TRY(sink->Write(table));
    uint64_t position = sizeof(header) + table.size();
    for (size_t i = 0; i < ranges.size(); ++i) {
      SKALD_TRY(internal::WriteAt(ranges[i]->offset, plan.contents[i], position, *sink));
    }
    // Linux keeps what was written in small pages, from which weights are read a fifth slower than from large ones; and
    // the writer has them in its own memory.
    return sink->Commit(SyncPolicy::kDataAndFolder, FileSink::Cached::kNothing);
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_WRITER_H_
