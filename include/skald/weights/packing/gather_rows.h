// SPDX-License-Identifier: Apache-2.0
//
// Collects rows of a matrix that are not consecutive in their tensor: every second one, columns, values of groups,
// rows that are quantised in several tensors, or MXFP4 as published for gpt-oss, with codes and scales in two tensors;
// and rows of which all together tell the numbers.

#ifndef SKALD_WEIGHTS_PACKING_GATHER_ROWS_H_
#define SKALD_WEIGHTS_PACKING_GATHER_ROWS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::internal {

/// Rows first, first + step and so on, `count` of them.
struct RowOrder {
  size_t first, step, count;
};

/// Of rows of `row_bytes` bytes.
std::vector<std::byte> GatherRows(std::span<const std::byte> rows, size_t row_bytes, const RowOrder& order);

/// The rows [begin, begin + size) of each of `units` units of equal size.
std::vector<std::byte> GatherUnits(std::span<const std::byte> rows, size_t row_bytes, size_t units, size_t begin,
                                   size_t size);

/// Of a matrix [cols, rows], whose columns are the rows.
std::vector<std::byte> GatherColumns(std::span<const std::byte> matrix, size_t cols, size_t element_bytes,
                                     const RowOrder& order);

/// The values of group-quantised rows, `count` of them, as the bytes of floats.
std::vector<std::byte> DecodedRows(std::span<const std::byte> rows, const GroupFormat& format, size_t count,
                                   float factor = 1.0f);

/// The rows of `source`, of `cols` weights, as the bytes of floats: each column divided by its norm
/// (Part::normed_columns). Norms are computed in double, and quotients rounded once.
std::vector<std::byte> NormedColumns(const PackSource& source, size_t cols);

/// Of codes [rows, blocks, 16] and scales [rows, blocks], `blocks` to a row. Returns rows of GGUF's blocks.
std::vector<std::byte> GatherMxfp4(std::span<const std::byte> codes, std::span<const std::byte> scales, size_t blocks,
                                   const RowOrder& order);

/// Of rows that a method makes, as it makes them; and the same as the bytes of floats.
std::vector<std::byte> QuantisedRowsIn(const QuantisedRows& rows, const RowOrder& order);
std::vector<std::byte> QuantisedFloatsIn(const QuantisedRows& rows, const RowOrder& order);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/packing/detail/gather_rows.h"
#endif

#endif  // SKALD_WEIGHTS_PACKING_GATHER_ROWS_H_
