// SPDX-License-Identifier: Apache-2.0
//
// PlannedMatrix: how a matrix will be kept in memory, told before it is loaded.

#ifndef SKALD_WEIGHTS_TYPES_PLANNED_MATRIX_H_
#define SKALD_WEIGHTS_TYPES_PLANNED_MATRIX_H_

#include <string_view>
#include <vector>

#include "skald/base/numbers/numeric.h"

namespace skald {

/// How loading will keep a matrix.
struct PlannedMatrix {
  DType dtype = DType::kBF16;  ///< of the matrix in memory
  bool has_order = false;      ///< Matrix::has_order
  bool has_factors = false;    ///< Matrix::has_factors
  bool row_scale = false;      ///< Matrix::row_scale
  /// The names of the tensors that it is made of, valid as long as the checkpoint; none without one.
  std::vector<std::string_view> tensors = {};
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_PLANNED_MATRIX_H_
