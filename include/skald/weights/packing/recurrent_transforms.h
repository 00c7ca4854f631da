// SPDX-License-Identifier: Apache-2.0
//
// Converts the parameters of recurrent layers from checkpoints to the form that kernels read: axes in the order of
// access, and the decay computed once instead of for each token.

#ifndef SKALD_WEIGHTS_PACKING_RECURRENT_TRANSFORMS_H_
#define SKALD_WEIGHTS_PACKING_RECURRENT_TRANSFORMS_H_

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"

namespace skald::internal {

/// Makes the row-major [rows, cols] matrix in `values` its transpose.
inline void Transpose(std::vector<float>& values, size_t rows, size_t cols) {
  std::vector<float> transposed(values.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t col = 0; col < cols; ++col) transposed[col * rows + row] = values[row * cols + col];
  }
  values = std::move(transposed);
}

/// A = -exp(A_log), the diagonal of a selective state space (arXiv:2312.00752, section 3.6). In double, rounded once.
inline void DecayFromLogarithm(std::vector<float>& values) {
  for (float& value : values) value = static_cast<float>(-PortableExp(static_cast<double>(value)));
}

/// -8 * softplus(p), by which the recurrence gate is multiplied to give the logarithm of the RG-LRU's decay
/// (arXiv:2402.19427, section 2.4). In double, rounded once; softplus in the form that cannot overflow.
inline void DecayFromRgLruParameter(std::vector<float>& values) {
  for (float& value : values) {
    const double p = value;
    value = static_cast<float>(-8.0 * (std::fmax(p, 0.0) + PortableLog1p(PortableExp(-std::fabs(p)))));
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_RECURRENT_TRANSFORMS_H_
