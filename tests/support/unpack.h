// SPDX-License-Identifier: Apache-2.0
//
// The inverse of packing, element by element, for tests.

#ifndef SKALD_TESTS_SUPPORT_UNPACK_H_
#define SKALD_TESTS_SUPPORT_UNPACK_H_

#include <cstddef>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_element.h"
#include "skald/weights/types/matrix.h"

namespace skald::testing {

inline float ElementOf(const Matrix& matrix, size_t row, size_t col) {
  return VisitWeightType(matrix.dtype,
                         [&]<class T>() { return skald::ElementOf(matrix.As<T>(), row, col, matrix.padded_cols); });
}

// Returns rows [begin, end) of a matrix, row-major: what multiplies each input as it is.
inline std::vector<float> UnpackRows(const Matrix& matrix, size_t begin, size_t end) {
  std::vector<float> values;
  for (size_t row = begin; row < end; ++row) {
    const size_t first = values.size();
    for (size_t col = 0; col < matrix.cols; ++col) values.push_back(ElementOf(matrix, row, col));
    const auto order = matrix.order();
    const auto factors = matrix.factors();
    for (size_t col = 0; matrix.changes_inputs() && col < matrix.cols; ++col) {
      const float factor = factors.empty() ? 1.0f : factors[col];
      values[first + (order.empty() ? col : order[col])] = ElementOf(matrix, row, col) * factor;
    }
  }
  return values;
}

inline std::vector<float> Unpack(const Matrix& matrix) { return UnpackRows(matrix, 0, matrix.rows); }

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_UNPACK_H_
