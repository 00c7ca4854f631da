// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_element.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/matmul.h"
#include "tests/support/gated_product.h"
#include "tests/support/kernel_data.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {
namespace matmul_test {

// A multiplication and everything it needs. Output rows lie `gap` floats apart; the gaps hold NaN.
template <class T>
struct MatMulCase {
  MatMulCase(size_t rows, size_t n, size_t k, bool with_bias, uint32_t seed = 1)
      : rows(rows),
        n(n),
        k(k),
        input(RandomFloats(seed, rows * k)),
        weights(RoundedTo<T>(RandomFloats(seed + 1, n * k))),
        bias(with_bias ? RandomFloats(seed + 2, n) : std::vector<float>()) {}

  // Large outputs are written another way if their rows are aligned.
  size_t gap() const { return rows >= kMatMulGroup ? kLanes : 3; }

  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }

  // Computes panels in the given pieces, which end at `ends`.
  std::vector<float> Run(const std::vector<size_t>& ends) const {
    auto prepared = UnwrittenBuffer<T>(PreparedSize(rows, RoundUp(k, kTile)));
    auto partial_sums = UnwrittenBuffer<float>(PartialSumsSize(rows, n, RoundUp(k, kTile)));
    Kernels<>::Prepare<T>({.input = input.data(),
                           .input_stride = k,
                           .output = prepared.data(),
                           .rows = rows,
                           .cols = k,
                           .row_begin = 0,
                           .row_end = rows});
    const AlignedBuffer<T> packed = Pack(weights, n, k);
    AlignedBuffer<float> output(rows * (n + gap()));
    std::fill_n(output.data(), output.size(), kNaN);
    size_t begin = 0;
    for (const size_t end : ends) {
      Kernels<>::MatMul<T>({.input = prepared.data(),
                            .weights = packed.data(),
                            .bias = bias_or_null(),
                            .output = output.data(),
                            .output_stride = n + gap(),
                            .rows = rows,
                            .n = n,
                            .padded_k = RoundUp(k, kTile),
                            .row_begin = 0,
                            .row_end = rows,
                            .panel_begin = begin,
                            .panel_end = end,
                            .partial_sums = partial_sums.data()});
      begin = end;
    }
    return {output.data(), output.data() + output.size()};
  }
  std::vector<float> Run() const { return Run({num_panels()}); }

  size_t num_panels() const { return RoundUp(n, kLanes) / kLanes; }

  std::vector<float> Reference() const {
    std::vector<float> expected;
    for (size_t row = 0; row < rows; ++row) {
      expected.resize(row * (n + gap()) + n);
      reference::MatMul(input.data() + row * k, weights.data(), bias_or_null(), 1, n, k,
                        expected.data() + row * (n + gap()));
      expected.resize((row + 1) * (n + gap()), kNaN);
    }
    return expected;
  }

  // Each of k products of numbers below 1 may be off by one rounding of a sum below k (Higham 2002, section 3.1).
  double tolerance() const { return kEpsilon * static_cast<double>((k + 2) * (k + 2)); }

  size_t rows, n, k;
  std::vector<float> input;
  std::vector<T> weights;
  std::vector<float> bias;
};

TEST_CASE_TEMPLATE("a matrix product equals the scalar reference for every shape", T, float, bf16) {
  for (const size_t rows : {1, 2, 3, 4, 5, 7, 9, 16, 17, 30, 33}) {
    for (const size_t n : {1, 15, 16, 17, 35, 80, 145}) {
      for (const size_t k : {1, 2, 31, 32, 33, 67}) {
        CAPTURE(rows);
        CAPTURE(n);
        CAPTURE(k);
        const MatMulCase<T> c(rows, n, k, (n + k) % 2 == 0);
        CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
      }
    }
  }
}

TEST_CASE_TEMPLATE("a matrix product of a model's size equals the scalar reference", T, float, bf16) {
  for (const size_t rows : {1, 6, 70, 300}) {
    const MatMulCase<T> c(rows, 96, rows > 100 ? 4384 : 2304, false);
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("a gated product equals a product and then a gate", T, float, bf16) {
  for (const size_t rows : {1, 2, 5, 16, 33, 300}) {
    for (const size_t cols : {16, 48, 96}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const size_t k = rows == 300 ? 2144 : 67;
      const MatMulCase<T> c(rows, 2 * cols, k, cols != 48);
      auto prepared = UnwrittenBuffer<T>(PreparedSize(rows, RoundUp(k, kTile)));
      auto partial_sums = UnwrittenBuffer<float>(PartialSumsSize(rows, 2 * cols, RoundUp(k, kTile)));
      Kernels<>::Prepare<T>({.input = c.input.data(),
                             .input_stride = k,
                             .output = prepared.data(),
                             .rows = rows,
                             .cols = k,
                             .row_begin = 0,
                             .row_end = rows});
      const AlignedBuffer<T> packed = Pack(c.weights, 2 * cols, k);
      MatMulArgs<T> args = {.input = prepared.data(),
                            .weights = packed.data(),
                            .bias = c.bias_or_null(),
                            .output = nullptr,
                            .output_stride = 2 * cols,
                            .rows = rows,
                            .n = 2 * cols,
                            .padded_k = RoundUp(k, kTile),
                            .row_begin = 0,
                            .row_end = rows,
                            .panel_begin = 0,
                            .panel_end = 2 * cols / kLanes,
                            .partial_sums = partial_sums.data()};
      CheckGatedProduct(args);
    }
  }
}

TEST_CASE_TEMPLATE("panels computed in pieces equal all panels computed at once", T, float, bf16) {
  for (const size_t rows : {1, 5, 18}) {
    const MatMulCase<T> c(rows, 200, rows == 18 ? 352 : 96, true);
    const std::vector<float> whole = c.Run();
    CHECK(Difference(c.Run({1, 4, 4, 9, c.num_panels()}), whole, 0) == "");
    CHECK(Difference(c.Run({5, 12, c.num_panels()}), whole, 0) == "");
  }
}

TEST_CASE_TEMPLATE("a row's result does not depend on the other rows", T, float, bf16) {
  const MatMulCase<T> batch(7, 50, 100, true);
  const std::vector<float> together = batch.Run();
  for (size_t row = 0; row < batch.rows; ++row) {
    MatMulCase<T> single = batch;
    single.rows = 1;
    single.input.assign(batch.input.begin() + row * batch.k, batch.input.begin() + (row + 1) * batch.k);
    const size_t stride = together.size() / batch.rows;
    CHECK(Difference(single.Run(), std::span(together).subspan(row * stride, stride), 0) == "");
  }
}

TEST_CASE_TEMPLATE("a matrix product has the saved bits", T, float, bf16) {
  CHECK(SavedDifference({"matmul", NameOf(kDTypeOf<T>)}, MatMulCase<T>(17, 83, 300, true).Run()) == "");
}

TEST_CASE_TEMPLATE("terms that cancel leave the reference's remainder", T, float, bf16) {
  MatMulCase<T> c(1, 33, 128, false);
  for (size_t k = 0; k + 1 < c.k; k += 2) c.input[k + 1] = -c.input[k];
  for (size_t i = 0; i + 1 < c.weights.size(); i += 2) c.weights[i + 1] = c.weights[i];
  c.input[127] = 0x1p-12f;
  CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
}

TEST_CASE_TEMPLATE("the scalar reference is close to the product in double precision", T, float, bf16) {
  const MatMulCase<T> c(3, 20, 300, true);
  const std::vector<float> reference = c.Reference();
  for (size_t row = 0; row < c.rows; ++row) {
    for (size_t i = 0; i < c.n; ++i) {
      double sum = c.bias[i], magnitude = std::abs(c.bias[i]);
      for (size_t k = 0; k < c.k; ++k) {
        const double product =
            double{ToFloat(FromFloat<T>(c.input[row * c.k + k]))} * double{ToFloat(c.weights[i * c.k + k])};
        sum += product;
        magnitude += std::abs(product);
      }
      const double error = std::abs(sum - reference[row * (c.n + c.gap()) + i]);
      CHECK(error <= kEpsilon * magnitude * static_cast<double>(c.k));
    }
  }
}

// Packs of any codes but NaN.
template <class T>
AlignedBuffer<T> RandomPacks(size_t count) {
  AlignedBuffer<T> packs(count);
  std::mt19937 random(5);
  for (T& pack : std::span(packs.data(), count)) {
    for (float& scale : pack.scales) scale = static_cast<float>(random() % 1000 + 1) * 0x1p-10f;
    for (auto& codes : pack.codes) {
      for (uint8_t& code : codes) code = static_cast<uint8_t>(random() % 127 + random() % 2 * 128);
    }
  }
  return packs;
}

TEST_CASE_TEMPLATE("codes of floats are multiplied as these floats are, bit for bit", T, F8, NF4, FP4) {
  for (const size_t rows : {1, 2, 5, 17, 40, 300}) {
    for (const size_t n : {16, 35, 96}) {
      const size_t k = rows == 300 ? 96 : 544, panels = RoundUp(n, kLanes) / kLanes;
      CAPTURE(rows);
      CAPTURE(n);
      MatMulCase<float> floats(rows, n, k, n == 35);
      const AlignedBuffer<T> packs = RandomPacks<T>(panels * k / T::kTerms);
      for (size_t i = 0; i < n * k; ++i) floats.weights[i] = ElementOf(packs.data(), i / k, i % k, k);
      auto prepared = UnwrittenBuffer<float>(PreparedSize(rows, k));
      Kernels<>::Prepare<T>({floats.input.data(), k, prepared.data(), rows, k, 0, rows});
      AlignedBuffer<float> output(rows * (n + floats.gap()));
      std::fill_n(output.data(), output.size(), kNaN);
      MatMulArgs<T> args = {.input = prepared.data(),
                            .weights = packs.data(),
                            .bias = floats.bias_or_null(),
                            .output = output.data(),
                            .output_stride = n + floats.gap(),
                            .rows = rows,
                            .n = n,
                            .padded_k = k,
                            .row_begin = 0,
                            .row_end = rows,
                            .panel_begin = 0,
                            .panel_end = panels,
                            .partial_sums = nullptr};
      Kernels<>::MatMul<T>(args);
      CHECK(Difference(std::vector<float>(output.data(), output.data() + output.size()), floats.Run(), 0) == "");
      if (n == 96) CheckGatedProduct(args);
    }
  }
}

}  // namespace matmul_test
}  // namespace skald::testing
