// SPDX-License-Identifier: Apache-2.0
//
// Quantised matrices as floats that hold the same numbers: what a reference computes exactly.

#ifndef SKALD_TESTS_SUPPORT_WIDEN_H_
#define SKALD_TESTS_SUPPORT_WIDEN_H_

#include <cstddef>
#include <vector>

#include "skald/model/model.h"
#include "skald/weights/packing/pack.h"
#include "tests/support/unpack.h"

namespace skald::testing {

/// Replaces the quantised matrices.
inline void Widen(ModelWeights& weights) {
  const WeightPacker& packer = *FindType(WeightPackersOf<AllWeights>(), DType::kF32);
  ThreadPool threads(1);
  ForEachArray(
      ParametersOf(weights),
      [&](const Matrix& matrix, size_t rows, size_t cols) {
        if (!IsGrouped(matrix.dtype) && !IsFloatCoded(matrix.dtype)) return;
        const std::vector<float> values = Unpack(matrix);
        const PackSource source[] = {{reinterpret_cast<const std::byte*>(values.data()), DType::kF32, rows}};
        const_cast<Matrix&>(matrix) = PackMatrix(source, cols, packer, ExecutorRef(threads));
      },
      [](const std::vector<float>&, size_t) {});
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_WIDEN_H_
