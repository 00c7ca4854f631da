// SPDX-License-Identifier: Apache-2.0
//
// Matrix multiplication, one output at a time.

#ifndef SKALD_TESTS_REFERENCE_MATMUL_H_
#define SKALD_TESTS_REFERENCE_MATMUL_H_

#include <cstddef>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "tests/reference/sums.h"

namespace skald::reference {

// Returns the inner product of `size` activations, rounded to T here, and weights, plus `bias`.
template <class T>
float MatMulElement(const float* input, const T* weights, size_t size, const float* bias) {
  const float sum = AddProducts<T>(
      0.0f, 0, size, [&](size_t k) { return ToFloat(FromFloat<T>(input[k])); },
      [&](size_t k) { return ToFloat(weights[k]); });
  return bias ? sum + *bias : sum;
}

// output[r, n] for input [rows, k] and row-major weights [n, k], all tightly packed.
template <class T>
void MatMul(const float* input, const T* weights, const float* bias, size_t rows, size_t n, size_t k, float* output) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < n; ++i) {
      output[row * n + i] = MatMulElement(input + row * k, weights + i * k, k, bias ? bias + i : nullptr);
    }
  }
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_MATMUL_H_
