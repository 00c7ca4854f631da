// SPDX-License-Identifier: Apache-2.0
//
// What a gated matrix product must be: the product, and then the gate.

#ifndef SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_
#define SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_

#include <doctest/doctest.h>

#include <cstddef>
#include <span>

#include "skald/base/aligned_buffer.h"
#include "skald/kernels/kernels.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {

// Compares MatMulGated, in two pieces and for every gate, with MatMul and Gate. `args` is a product with an even number
// of panels; its output and panels are set here.
template <class T>
void CheckGatedProduct(MatMulArgs<T> args) {
  const size_t rows = args.rows, cols = args.n / 2;
  for (const GateFunction gate : {GateFunction::kSilu, GateFunction::kGeluTanh, GateFunction::kGeluErf}) {
    AlignedBuffer<float> sums(rows * 2 * cols), expected(rows * cols), actual(rows * cols);
    args.output = sums.data(), args.output_stride = 2 * cols;
    args.panel_begin = 0, args.panel_end = 2 * cols / kLanes;
    Kernels<>::MatMul<T>(args);
    Kernels<>::Gate({.gate = gate, .gate_up = sums.data(), .output = expected.data(), .cols = cols,
                     .row_begin = 0, .row_end = rows});
    args.output = actual.data(), args.output_stride = cols, args.gate = gate;
    for (const size_t end : {size_t{1}, cols / kLanes}) {
      args.panel_end = end;
      Kernels<>::MatMulGated<T>(args);
      args.panel_begin = end;
    }
    CHECK(BitDifference(std::span<const float>(actual), std::span<const float>(expected)) == "");
  }
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_
