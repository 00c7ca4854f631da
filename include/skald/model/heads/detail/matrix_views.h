// SPDX-License-Identifier: Apache-2.0
//
// Matrices that refer to the elements of others, which must outlive them.

#ifndef SKALD_MODEL_HEADS_DETAIL_MATRIX_VIEWS_H_
#define SKALD_MODEL_HEADS_DETAIL_MATRIX_VIEWS_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "skald/weights/types/matrix.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald::internal {

inline Matrix ViewOf(const Matrix& matrix) {
  return {matrix.rows,      matrix.cols,       matrix.dtype, MatrixBytes(matrix.data, nullptr),
          matrix.has_order, matrix.has_factors};
}

// Rows [begin, end), or as many as there are; both are multiples of kLanes. Unless these are all rows, the matrix does
// not change its inputs: of its own, a head with groups has them as floats.
inline Matrix RowsOf(const Matrix& matrix, size_t begin, size_t end) {
  if (begin == 0 && end >= matrix.rows) return ViewOf(matrix);
  const size_t rows = std::min(end, matrix.rows) - begin;
  const size_t first = Matrix::BytesOf(begin, matrix.cols, matrix.dtype);
  const size_t size = Matrix::BytesOf(rows, matrix.cols, matrix.dtype);
  return {rows, matrix.cols, matrix.dtype, MatrixBytes({matrix.bytes() + first, size}, nullptr)};
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_MATRIX_VIEWS_H_
