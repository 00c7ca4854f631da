// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/partitioned_parameters.h.

#ifndef SKALD_WEIGHTS_DETAIL_PARTITIONED_PARAMETERS_H_
#define SKALD_WEIGHTS_DETAIL_PARTITIONED_PARAMETERS_H_

#include "skald/weights/partitioned_parameters.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

namespace internal {

SKALD_INLINE size_t PartitionedRows::size() const {
  size_t sum = 0;
  for (const PartitionedRange& range : ranges) sum += range.size();
  return sum;
}

// Returns where each rank's share of an axis begins, and the size of the axis.
inline std::vector<size_t> SharesOf(const Axis& axis, size_t ranks) {
  std::vector<size_t> begins;
  for (size_t rank = 0; rank < ranks; ++rank) begins.push_back(Partition(axis, {rank, ranks}).begin);
  begins.push_back(axis.size);
  return begins;
}

SKALD_INLINE std::vector<Axis> RowAxesOf(const MatrixParameter& matrix) {
  std::vector<Axis> axes = matrix.row_axes;
  if (!axes.empty()) return axes;
  for (const Part& part : matrix.parts) axes.push_back(part.rows);
  return axes;
}

SKALD_INLINE PartitionedRows RowsHere(const MatrixParameter& matrix, const RankShare& share) {
  const size_t rows = matrix.rows();
  if (share.ranks == 1 || matrix.dtype) return {{{0, rows}}};
  PartitionedRows here;
  Division division;
  if (ArePartitioned(matrix.cols, share.ranks)) {
    division.input_begins = SharesOf(matrix.cols.Tile(), share.ranks);
    division.input_tiles = matrix.cols.tiles;
  }
  if (const auto axes = RowAxesOf(matrix); ArePartitioned(axes, share.ranks)) {
    here.ranges = PartitionEach(axes, share);
  } else {
    for (size_t rank = 0; rank <= share.ranks; ++rank) {
      const size_t panels = RoundUp(rows, kLanes) / kLanes;
      division.output_begins.push_back(std::min(Partition(panels, {rank, share.ranks}).begin * kLanes, rows));
    }
    here.ranges.push_back({division.output_begins[share.rank], division.output_begins[share.rank + 1]});
  }
  here.division = std::make_shared<Division>(std::move(division));
  size_t first = 0;
  for (const Part& part : matrix.parts) {
    here.first.push_back({first, first + 1});
    first += part.rows;
  }
  return here;
}

SKALD_INLINE void KeepPartitioned(const VectorParameter& vector, const RankShare& share) {
  if (!ArePartitioned(vector.axes, share.ranks)) return;
  std::vector<float> kept;
  for (const auto& [begin, end] : PartitionEach(vector.axes, share)) {
    kept.insert(kept.end(), vector.target->begin() + static_cast<ptrdiff_t>(begin),
                vector.target->begin() + static_cast<ptrdiff_t>(end));
  }
  *vector.target = std::move(kept);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_PARTITIONED_PARAMETERS_H_
