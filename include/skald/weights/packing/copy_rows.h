// SPDX-License-Identifier: Apache-2.0
//
// Copies rows of a packed matrix to another one of its type, without changing a bit.

#ifndef SKALD_WEIGHTS_PACKING_COPY_ROWS_H_
#define SKALD_WEIGHTS_PACKING_COPY_ROWS_H_

#include <cstddef>
#include <span>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/weights/types/column_inputs.h"
#include "skald/weights/types/matrix.h"

namespace skald::internal {

/// Returns a matrix of the rows in `ranges`, in that order, of the packed matrix at `whole`, whose columns multiply
/// `inputs`. Skips panels without such rows.
Matrix CopyRows(const std::byte* whole, DType dtype, size_t cols, std::span<const PartitionedRange> ranges,
                const ColumnInputs& inputs = {});

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/packing/detail/copy_rows.h"
#endif

#endif  // SKALD_WEIGHTS_PACKING_COPY_ROWS_H_
