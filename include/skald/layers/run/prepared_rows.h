// SPDX-License-Identifier: Apache-2.0
//
// Rows as weights are multiplied by them (PreparedIndex, QuantizedRows), put together from parts of their columns that
// were prepared by themselves, one row at a time: what ranks exchange instead of floats.

#ifndef SKALD_LAYERS_RUN_PREPARED_ROWS_H_
#define SKALD_LAYERS_RUN_PREPARED_ROWS_H_

#include <cstddef>
#include <cstring>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

/// Columns that are prepared alike whatever lies beside them: parts begin at multiples of this.
constexpr size_t PreparedUnit(DType type) { return IsGrouped(type) ? kActivationBlock : kTile; }

/// Returns the bytes of one row of `cols` columns, prepared by itself.
size_t PreparedRowBytes(DType type, size_t cols);

namespace internal {

/// Copies consecutive pieces of so many bytes to places `step` bytes apart.
template <size_t kBytes>
void Spread(const std::byte* from, size_t pieces, size_t step, std::byte* to) {
  for (size_t i = 0; i < pieces; ++i) std::memcpy(to + i * step, from + i * kBytes, kBytes);
}

}  // namespace internal

/// Puts `cols` columns of a row, prepared by themselves, where column `first` of row `row` of `rows` prepared rows of
/// padded_k columns begins.
void PlacePrepared(DType type, const std::byte* part, size_t cols, std::byte* whole, size_t rows, size_t row,
                   size_t first, size_t padded_k);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/prepared_rows.h"
#endif

#endif  // SKALD_LAYERS_RUN_PREPARED_ROWS_H_
