// SPDX-License-Identifier: Apache-2.0
//
// The rows that matrices multiply, for callers that study weights: how much each column of a matrix
// matters.

#ifndef SKALD_LAYERS_RUN_MATRIX_INPUTS_H_
#define SKALD_LAYERS_RUN_MATRIX_INPUTS_H_

#include <cstddef>
#include <functional>

#include "skald/layers/run/rows.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Rows that a matrix is about to multiply. Valid during the call that gets them; not to be changed.
struct MatrixInputs {
  const Matrix& weights;  ///< one of the model's own (ModelWeights)
  Rows input;             ///< [rows, weights.cols], before the matrix changes them (ColumnInputs)
  size_t rows;            ///< at least one
};

/// Called before each multiplication by weights, by the thread that called Forward. An exception fails the call.
using MatrixObserver = std::function<void(const MatrixInputs&)>;

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_MATRIX_INPUTS_H_
