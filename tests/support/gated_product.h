// SPDX-License-Identifier: Apache-2.0
//
// The reference of a gated matrix product: the product, and then the gate.

#ifndef SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_
#define SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/kernels/kernels.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {

// Compares what MatMul writes as the input of a following product with what Prepare makes of `outputs`, [rows, n / 2].
template <class T>
void CheckPreparedProduct(MatMulArgs<T> args, const float* outputs) {
  const size_t rows = args.rows, cols = args.n / 2, size = PreparedSize(rows, cols);
  auto expected = UnwrittenBuffer<bf16>(size), actual = UnwrittenBuffer<bf16>(size);
  Kernels<>::Prepare<bf16>({.input = outputs,
                            .input_stride = cols,
                            .output = expected.data(),
                            .rows = rows,
                            .cols = cols,
                            .row_begin = 0,
                            .row_end = rows});
  args.output = nullptr, args.prepared_output = actual.data();
  args.panel_begin = 0, args.panel_end = cols / kLanes;
  Kernels<>::MatMul<T>(args);
  CHECK(std::memcmp(actual.data(), expected.data(), (rows * cols + PreparedTail(rows)) * sizeof(bf16)) == 0);
}

// Compares MatMul with a gate, in two pieces and for every gate, with MatMul and Gate. `args` is a product with an even
// number of panels; its output and panels are set here.
template <class T>
void CheckGatedProduct(MatMulArgs<T> args) {
  const size_t rows = args.rows, cols = args.n / 2;
  for (const Activation gate : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                Activation::kReluSquared, Activation::kClampedSwiglu}) {
    auto sums = UnwrittenBuffer<float>(rows * 2 * cols), expected = UnwrittenBuffer<float>(rows * cols),
         actual = UnwrittenBuffer<float>(rows * cols);
    args.output = sums.data(), args.output_stride = 2 * cols, args.gate = {};
    args.panel_begin = 0, args.panel_end = 2 * cols / kLanes;
    Kernels<>::MatMul<T>(args);
    Kernels<>::Gate({.gate = gate,
                     .gate_up = sums.data(),
                     .output = expected.data(),
                     .cols = cols,
                     .row_begin = 0,
                     .row_end = rows});
    args.output = actual.data(), args.output_stride = cols, args.gate = gate;
    for (const size_t end : {size_t{1}, cols / kLanes}) {
      args.panel_end = end;
      Kernels<>::MatMul<T>(args);
      args.panel_begin = end;
    }
    CHECK(BitDifference(std::span<const float>(actual), std::span<const float>(expected)) == "");
    if (cols % kTile == 0) CheckPreparedProduct(args, expected.data());
  }
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GATED_PRODUCT_H_
