// SPDX-License-Identifier: Apache-2.0
//
// Kernels that work on rows of activations: prepare, embed, norm, rope, add.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/math.h"
#include "tests/reference/norm.h"
#include "tests/reference/rope.h"
#include "tests/support/kernel_data.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {
namespace rows_test {

const std::vector<size_t> kLengths = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 35, 100, 2304};

TEST_CASE_TEMPLATE("prepared rows are rounded, padded with zeros, stored tile by tile, and followed by zeros", T, float,
                   bf16) {
  for (const size_t rows : {1, 3, 16, 21}) {
    for (const size_t cols : kLengths) {
      const size_t padded = RoundUp(cols, kTile), stride = cols + 2;
      const std::vector<float> input = RandomFloats(1, rows * stride, 100.0f);
      const size_t first = std::min<size_t>(rows - 1, 1);
      std::vector<T> actual(PreparedSize(rows, padded), FromFloat<T>(7.0f)), expected = actual;
      std::fill_n(expected.begin() + rows * padded, PreparedTail(rows), FromFloat<T>(0.0f));
      for (size_t row = first; row < rows; ++row) {
        for (size_t i = 0; i < padded; ++i) {
          expected[PreparedIndex(rows, row, i, padded)] = FromFloat<T>(i < cols ? input[row * stride + i] : 0.0f);
        }
      }
      Kernels<>::Prepare<T>({.input = input.data(),
                             .input_stride = stride,
                             .output = actual.data(),
                             .rows = rows,
                             .cols = cols,
                             .row_begin = first,
                             .row_end = rows});
      CHECK(BitDifference(actual, expected) == "");
    }
  }
}

TEST_CASE("rounding to bfloat16 treats every kind of number as the scalar form does") {
  std::vector<float> input;
  for (uint64_t bits = 0; bits < 0x100000000u; bits += 0x7FFF) {
    input.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const uint32_t bits : {0x3F808000u, 0x3F818000u, 0x3F808001u, 0x3F807FFFu, 0x7F7FFFFFu, 0x7F800000u, 0xFF800000u,
                              0x7F800001u, 0x7FFFFFFFu, 0x00000001u, 0x00008000u, 0x80018000u}) {
    input.push_back(std::bit_cast<float>(bits));
  }
  std::vector<bf16> actual(RoundUp(input.size(), kTile)), expected = actual;
  for (size_t i = 0; i < input.size(); ++i) expected[i] = RoundToBF16(input[i]);
  Kernels<>::Prepare<bf16>({.input = input.data(),
                            .input_stride = 0,
                            .output = actual.data(),
                            .rows = 1,
                            .cols = input.size(),
                            .row_begin = 0,
                            .row_end = 1});
  CHECK(BitDifference(actual, expected) == "");
}

TEST_CASE_TEMPLATE("embedding reads a token's row from the packed table", T, float, bf16) {
  for (const size_t cols : {1, 31, 32, 33, 100}) {
    const std::vector<T> table = RoundedTo<T>(RandomFloats(3, 37 * cols));
    const AlignedBuffer<T> packed = Pack(table, 37, cols);
    const int32_t tokens[] = {0, 36, 15, 16, 36};
    const size_t stride = cols + 1;
    std::vector<float> actual(5 * stride, -9.0f), expected = actual;
    for (size_t row = 1; row < 5; ++row) {
      for (size_t i = 0; i < cols; ++i) expected[row * stride + i] = ToFloat(table[tokens[row] * cols + i]) * 0.3f;
    }
    Kernels<>::Embed<T>({.table = packed.data(),
                         .tokens = tokens,
                         .output = actual.data(),
                         .output_stride = stride,
                         .cols = cols,
                         .padded_k = RoundUp(cols, kTile),
                         .scale = 0.3f,
                         .row_begin = 1,
                         .row_end = 5});
    CHECK(BitDifference(actual, expected) == "");
  }
}

TEST_CASE("a norm equals the scalar reference for every length") {
  for (const size_t cols : kLengths) {
    CAPTURE(cols);
    const size_t stride = cols + 3;
    const std::vector<float> input = RandomFloats(4, 3 * stride, 3.0f), weight = RandomFloats(5, cols, 2.0f);
    std::vector<float> actual(3 * stride, kNaN), expected = actual;
    for (size_t row = 1; row < 3; ++row) {
      reference::Norm(input.data() + row * stride, weight.data(), cols, 1e-6f, expected.data() + row * stride);
    }
    Kernels<>::Norm({.input = input.data(),
                     .input_stride = stride,
                     .weight = weight.data(),
                     .output = actual.data(),
                     .output_stride = stride,
                     .cols = cols,
                     .epsilon = 1e-6f,
                     .row_begin = 1,
                     .row_end = 3});
    CHECK(Difference(actual, expected, 8 * kEpsilon * static_cast<double>(cols + 4)) == "");
  }
}

TEST_CASE("a norm has the saved bits") {
  const std::vector<float> input = RandomFloats(14, 1000, 3.0f), weight = RandomFloats(15, 1000, 2.0f);
  std::vector<float> output(input.size());
  Kernels<>::Norm({.input = input.data(),
                   .input_stride = 0,
                   .weight = weight.data(),
                   .output = output.data(),
                   .output_stride = 0,
                   .cols = input.size(),
                   .epsilon = 1e-6f,
                   .row_begin = 0,
                   .row_end = 1});
  CHECK(SavedDifference({"norm"}, output) == "");
}

TEST_CASE("a norm without a weight has a weight of ones") {
  for (const size_t cols : {1, 7, 16, 37, 64}) {
    const std::vector<float> data = RandomFloats(6, 2 * cols, 3.0f), ones(cols, 1.0f);
    std::vector<float> expected(2 * cols), actual(2 * cols + 1, kNaN);
    NormArgs args = {.input = data.data(),
                     .input_stride = cols,
                     .weight = ones.data(),
                     .output = expected.data(),
                     .output_stride = cols,
                     .cols = cols,
                     .epsilon = 1e-5f,
                     .row_begin = 0,
                     .row_end = 2};
    Kernels<>::Norm(args);
    args.weight = nullptr, args.output = actual.data();
    Kernels<>::Norm(args);
    CHECK(std::isnan(actual.back()));
    actual.pop_back();
    CHECK(BitDifference(actual, expected) == "");
  }
}

TEST_CASE("a norm may write over its input") {
  std::vector<float> data = RandomFloats(6, 2 * 37), expected(2 * 37);
  const std::vector<float> weight = RandomFloats(7, 37);
  NormArgs args = {.input = data.data(),
                   .input_stride = 37,
                   .weight = weight.data(),
                   .output = expected.data(),
                   .output_stride = 37,
                   .cols = 37,
                   .epsilon = 1e-5f,
                   .row_begin = 0,
                   .row_end = 2};
  Kernels<>::Norm(args);
  args.output = data.data();
  Kernels<>::Norm(args);
  CHECK(BitDifference(data, expected) == "");
}

TEST_CASE("the scalar norm is close to the norm in double precision") {
  const size_t cols = 1000;
  const std::vector<float> input = RandomFloats(8, cols, 3.0f), weight = RandomFloats(9, cols, 2.0f);
  std::vector<float> actual(cols);
  reference::Norm(input.data(), weight.data(), cols, 1e-6f, actual.data());
  double squares = 0;
  for (const float x : input) squares += double{x} * x;
  const double scale = 1 / std::sqrt(squares / cols + 1e-6);
  // A lane adds cols / 16 squares, the tree has 4 levels; the root halves the error; 4 more roundings follow.
  const double relative = kEpsilon / 2 * ((cols / 16.0 + 5) / 2 + 5);
  for (size_t i = 0; i < cols; ++i) {
    const double exact = input[i] * scale * weight[i];
    CHECK(std::abs(actual[i] - exact) <= relative * std::abs(exact));
  }
}

// LayerNorm of rows [1, 3) against the scalar reference, in place or not.
void CheckLayerNorm(size_t cols, bool has_weight, bool has_bias, bool in_place) {
  CAPTURE(cols);
  const size_t stride = cols + 3;
  std::vector<float> input = RandomFloats(4, 3 * stride, 3.0f);
  for (float& x : input) x += 5.0f;
  const std::vector<float> weight = RandomFloats(5, cols, 2.0f), bias = RandomFloats(6, cols);
  std::vector<float> actual = input, expected = input;
  LayerNormArgs args = {.input = in_place ? actual.data() : input.data(),
                        .input_stride = stride,
                        .weight = has_weight ? weight.data() : nullptr,
                        .bias = has_bias ? bias.data() : nullptr,
                        .output = actual.data(),
                        .output_stride = stride,
                        .cols = cols,
                        .epsilon = 1e-6f,
                        .row_begin = 1,
                        .row_end = 3};
  Kernels<>::LayerNorm(args);
  for (size_t row = 1; row < 3; ++row) {
    reference::LayerNorm(input.data() + row * stride, args.weight, args.bias, cols, 1e-6f,
                         expected.data() + row * stride);
  }
  CHECK(Difference(actual, expected, 64 * kEpsilon * static_cast<double>(cols + 4)) == "");
}

TEST_CASE("a layer norm equals the scalar reference for every length, with and without weight and bias") {
  for (const size_t cols : kLengths) {
    for (const bool in_place : {false, true}) {
      CheckLayerNorm(cols, true, true, in_place);
      CheckLayerNorm(cols, true, false, in_place);
      CheckLayerNorm(cols, false, false, in_place);
    }
  }
}

TEST_CASE("a layer norm has the saved bits") {
  const std::vector<float> input = RandomFloats(14, 1000, 3.0f), weight = RandomFloats(15, 1000, 2.0f),
                           bias = RandomFloats(16, 1000);
  std::vector<float> output(input.size());
  Kernels<>::LayerNorm({.input = input.data(),
                        .input_stride = 0,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .output = output.data(),
                        .output_stride = 0,
                        .cols = input.size(),
                        .epsilon = 1e-6f,
                        .row_begin = 0,
                        .row_end = 1});
  CHECK(SavedDifference({"layer norm"}, output) == "");
}

TEST_CASE("the scalar layer norm is close to the norm in double precision, however far the mean is") {
  const size_t cols = 1000;
  for (const float offset : {0.0f, 100.0f}) {
    std::vector<float> input = RandomFloats(8, cols, 3.0f), actual(cols);
    for (float& x : input) x += offset;
    const std::vector<float> weight = RandomFloats(9, cols, 2.0f), bias = RandomFloats(10, cols);
    reference::LayerNorm(input.data(), weight.data(), bias.data(), cols, 1e-6f, actual.data());
    double mean = 0, squares = 0;
    for (const float x : input) mean += x / double{cols};
    for (const float x : input) squares += (x - mean) * (x - mean);
    const double scale = 1 / std::sqrt(squares / cols + 1e-6);
    // The mean is off by up to 67 roundings of numbers around the offset, its effect is multiplied by scale and weight;
    // a few more roundings of the deviations and of the result follow.
    const double absolute = kEpsilon * (67 * (offset + 3.0) * scale * 2.0 + 2.0);
    for (size_t i = 0; i < cols; ++i) {
      const double exact = (input[i] - mean) * scale * weight[i] + bias[i];
      CHECK(std::abs(actual[i] - exact) <= absolute + 40 * kEpsilon * std::abs(exact - bias[i]));
    }
  }
}

void CheckRope(size_t head_dim, size_t rotary_dim) {
  CAPTURE(head_dim);
  CAPTURE(rotary_dim);
  const size_t heads = 3, stride = 4 * head_dim, half = rotary_dim / 2;
  const std::vector<float> angles = RandomFloats(10, 3 * half, 3.0f);
  std::vector<float> cos, sin, actual = RandomFloats(11, 3 * stride), expected = actual;
  for (const float a : angles) {
    cos.push_back(std::cos(a));
    sin.push_back(std::sin(a));
  }
  for (size_t row = 1; row < 3; ++row) {
    for (size_t head = 0; head < heads; ++head) {
      reference::RotateHead(expected.data() + row * stride + head * head_dim, cos.data() + row * half,
                            sin.data() + row * half, rotary_dim);
    }
  }
  Kernels<>::Rope({.rows = actual.data(),
                   .row_stride = stride,
                   .cos = cos.data(),
                   .sin = sin.data(),
                   .heads = heads,
                   .head_dim = head_dim,
                   .rotary_dim = rotary_dim,
                   .row_begin = 1,
                   .row_end = 3});
  CHECK(Difference(actual, expected, 2 * kEpsilon) == "");
}

TEST_CASE("rope rotates the first heads of a row and leaves the rest") {
  for (const size_t head_dim : {2, 6, 8, 16, 20, 24, 34, 64, 256}) CheckRope(head_dim, head_dim);
}

TEST_CASE("rope may rotate only the first elements of a head") {
  CheckRope(24, 12);
  CheckRope(256, 128);
}

void CheckMultiply(FactorFunction function, float (*reference)(float)) {
  constexpr size_t kRows = 4, kStride = 40, kFactorStride = 37;
  const std::vector<float> factors = RandomFloats(14, kRows * kFactorStride, 4.0f);
  for (const size_t cols : {1, 7, 16, 33}) {
    std::vector<float> actual = RandomFloats(15, kRows * kStride), expected = actual;
    for (size_t row = 1; row < 3; ++row) {
      for (size_t i = 0; i < cols; ++i) expected[row * kStride + i] *= reference(factors[row * kFactorStride + i]);
    }
    Kernels<>::Multiply({.values = actual.data(),
                         .value_stride = kStride,
                         .factors = factors.data(),
                         .factor_stride = kFactorStride,
                         .function = function,
                         .cols = cols,
                         .row_begin = 1,
                         .row_end = 3});
    CHECK(Difference(actual, expected, 1e-6) == "");
  }
}

TEST_CASE("rows are multiplied element by element, those of the range and no more of each") {
  CheckMultiply(FactorFunction::kNone, [](float x) { return x; });
  CheckMultiply(FactorFunction::kSigmoid, reference::Sigmoid);
  CheckMultiply(FactorFunction::kSilu, reference::Silu);
  CheckMultiply(FactorFunction::kTanh, reference::Tanh);
}

TEST_CASE("a function is applied to exactly its range") {
  for (const size_t end : {5, 6, 21, 37, 80}) {
    std::vector<float> actual = RandomFloats(16, 80, 4.0f), expected = actual;
    for (size_t i = 5; i < end; ++i) expected[i] = reference::Tanh(expected[i]);
    Kernels<>::Apply({.function = FactorFunction::kTanh, .values = actual.data(), .begin = 5, .end = end});
    CHECK(Difference(actual, expected, 1e-6) == "");
  }
}

TEST_CASE("addition covers exactly its range") {
  const std::vector<float> addend = RandomFloats(12, 80);
  for (const size_t begin : {0, 1, 5}) {
    for (const size_t end : {5, 6, 20, 21, 22, 37, 80}) {
      std::vector<float> actual = RandomFloats(13, 80), expected = actual;
      for (size_t i = begin; i < end; ++i) expected[i] += addend[i];
      Kernels<>::Add({.accumulator = actual.data(), .addend = addend.data(), .begin = begin, .end = end});
      CHECK(BitDifference(actual, expected) == "");
    }
  }
}

}  // namespace rows_test
}  // namespace skald::testing
