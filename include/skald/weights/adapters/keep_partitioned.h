// SPDX-License-Identifier: Apache-2.0
//
// KeepPartitioned: the part of an adapter that belongs to one rank's part of a model.

#ifndef SKALD_WEIGHTS_ADAPTERS_KEEP_PARTITIONED_H_
#define SKALD_WEIGHTS_ADAPTERS_KEEP_PARTITIONED_H_

#include <cstddef>
#include <variant>

#include "skald/base/ranks/rank_share.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/packing/copy_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/types/matrix.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald::internal {

// Leaves of an adapter what is added to a rank's part of the model whose list this is.
inline void KeepPartitioned(const ParameterList& list, const RankShare& share, Adapter& adapter) {
  adapter.share = share;
  auto low = adapter.low_ranks.begin();
  size_t number = 0;
  for (const Parameter& parameter : list.parameters()) {
    const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    if (matrix == nullptr || !parameter.layer) continue;
    if (low == adapter.low_ranks.end()) return;
    if (low->matrix != number++) continue;
    const PartitionedRows here = RowsHere(*matrix, share);
    if (here.division != nullptr) low->b = CopyRows(low->b.bytes(), low->b.dtype, low->b.cols, here.ranges);
    ++low;
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_ADAPTERS_KEEP_PARTITIONED_H_
