// SPDX-License-Identifier: Apache-2.0
//
// The part of each parameter that one of several ranks has. Ranks that make the same list agree about all parts.

#ifndef SKALD_WEIGHTS_PARTITIONED_PARAMETERS_H_
#define SKALD_WEIGHTS_PARTITIONED_PARAMETERS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/division.h"

namespace skald::internal {

/// The rows of a whole matrix that are here, in order, and how the matrix is divided; no division if it is whole.
struct PartitionedRows {
  std::vector<PartitionedRange> ranges;
  std::shared_ptr<Division> division = {};
  std::vector<PartitionedRange> first = {};  ///< the first row of each of a divided matrix's tensors, which identify it

  size_t size() const;
};

/// How the rows of a matrix are partitioned.
std::vector<Axis> RowAxesOf(const MatrixParameter& matrix);

PartitionedRows RowsHere(const MatrixParameter& matrix, const RankShare& share);

/// Removes from a whole vector, already converted, the elements of other ranks.
void KeepPartitioned(const VectorParameter& vector, const RankShare& share);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/detail/partitioned_parameters.h"
#endif

#endif  // SKALD_WEIGHTS_PARTITIONED_PARAMETERS_H_
