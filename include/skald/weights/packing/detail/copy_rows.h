// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/copy_rows.h. In every type, panels follow each other, and the parts of a panel
// are arrays in which its sixteen rows are neighbours.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_COPY_ROWS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_COPY_ROWS_H_

#include "skald/weights/packing/copy_rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald::internal {

/// Neighbouring rows of a panel, and their destination in another one.
struct LaneCopy {
  size_t from, to, count;

  /// Arrays [bytes / kLanes / lane_bytes][kLanes] of elements of lane_bytes.
  void operator()(const std::byte* from_array, size_t bytes, size_t lane_bytes, std::byte* to_array) const {
    for (size_t line = 0; line < bytes; line += kLanes * lane_bytes) {
      std::memcpy(to_array + line + to * lane_bytes, from_array + line + from * lane_bytes, count * lane_bytes);
    }
  }
};

/// Copies rows of a pack. Codes of one row are in words of four bytes; the data of groups are elements.
template <class T>
requires kIsGrouped<T>
void CopyLanes(const T& from, const LaneCopy& lanes, T& to) {
  const auto copy = [&](const auto& source, auto& target, size_t lane_bytes) {
    lanes(reinterpret_cast<const std::byte*>(&source), sizeof(source), lane_bytes,
          reinterpret_cast<std::byte*>(&target));
  };
  const auto numbers = [&]<class Array>(const Array& source, Array& target) {
    copy(source, target, sizeof(std::remove_all_extents_t<Array>));
  };
  if constexpr (requires { from.scale; }) numbers(from.scale, to.scale);
  if constexpr (requires { from.minimum; }) numbers(from.minimum, to.minimum);
  if constexpr (requires { from.scales; }) numbers(from.scales, to.scales);
  if constexpr (requires { from.minima; }) numbers(from.minima, to.minima);
  if constexpr (requires { from.both; }) numbers(from.both, to.both);
  if constexpr (requires { from.offsets; }) numbers(from.offsets, to.offsets);
  copy(from.codes, to.codes, 4);
}

/// The same of codes of floats, a byte of each row beside the others.
template <FloatCoded T>
void CopyLanes(const T& from, const LaneCopy& lanes, T& to) {
  const auto bytes = [](auto& array) { return reinterpret_cast<std::byte*>(&array); };
  const auto source = [](const auto& array) { return reinterpret_cast<const std::byte*>(&array); };
  lanes(source(from.scales), sizeof(from.scales), sizeof(float), bytes(to.scales));
  lanes(source(from.codes), sizeof(from.codes), 1, bytes(to.codes));
}

/// Copies rows of a panel.
template <class T>
void CopyLanes(const std::byte* from, const LaneCopy& lanes, size_t cols, std::byte* to) {
  if constexpr (Packs<T>) {
    for (size_t pack = 0; pack < PaddedK<T>(cols) / T::kTerms; ++pack) {
      CopyLanes(reinterpret_cast<const T*>(from)[pack], lanes, reinterpret_cast<T*>(to)[pack]);
    }
  } else {
    lanes(from, PackedBytes<T>(kLanes, cols), kPair<T> * sizeof(T), to);
  }
}

/// Copies rows [rows.begin, rows.end) of a packed matrix to row `first` of another one and the following ones.
template <class T>
void CopyRows(const std::byte* from, const PartitionedRange& rows, size_t cols, size_t first, std::byte* to) {
  const size_t panel_bytes = PackedBytes<T>(kLanes, cols);
  for (size_t row = rows.begin; row < rows.end;) {
    const size_t target = first + (row - rows.begin);
    const size_t lane = row % kLanes, target_lane = target % kLanes;
    const size_t count = std::min({rows.end - row, kLanes - lane, kLanes - target_lane});
    const std::byte* const from_panel = from + row / kLanes * panel_bytes;
    std::byte* const to_panel = to + target / kLanes * panel_bytes;
    if (count == kLanes) {
      std::memcpy(to_panel, from_panel, panel_bytes);
    } else {
      CopyLanes<T>(from_panel, {lane, target_lane, count}, cols, to_panel);
    }
    row += count;
  }
}

SKALD_INLINE Matrix CopyRows(const std::byte* whole, DType dtype, size_t cols, std::span<const PartitionedRange> ranges,
                             const ColumnInputs& inputs) {
  size_t rows = 0;
  for (const PartitionedRange& range : ranges) rows += range.size();
  Matrix matrix(rows, cols, dtype, inputs);
  size_t first = 0;
  for (const PartitionedRange& range : ranges) {
    VisitWeightType(dtype, [&]<class T>() { CopyRows<T>(whole, range, cols, first, matrix.data.data()); });
    first += range.size();
  }
  return matrix;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_COPY_ROWS_H_
