// SPDX-License-Identifier: Apache-2.0
//
// Dot products of vectors, of codes and distances of bits. Unlike other kernels, these have the same bits on targets
// without fused multiply-add too.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "skald/kernels/similarity.h"
#include "tests/reference/similarity.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {
namespace similarity_test {

const std::vector<size_t> kLengths = {1, 7, 8, 15, 16, 17, 31, 33, 64, 100, 129, 384, 1000};
constexpr size_t kRows = 11;  // more than are computed at a time, and some that are left

// Bytes of all values.
template <class T>
std::vector<T> RandomBytes(uint32_t seed, size_t size) {
  std::vector<T> bytes;
  for (const float value : RandomFloats(seed, size, 256.0f)) {
    bytes.push_back(static_cast<T>(static_cast<int>(std::floor(value))));
  }
  return bytes;
}

TEST_CASE("dot products and squares of rows equal the scalar reference, to the bit, on every target") {
  for (const size_t cols : kLengths) {
    CAPTURE(cols);
    const std::vector<float> vector = RandomFloats(1, cols, 3.0f), rows = RandomFloats(2, kRows * cols, 1e3f);
    std::vector<double> actual(kRows, -1.0), alone = actual, expected = actual, squares = actual, lengths = actual;
    for (size_t row = 1; row < kRows; ++row) {
      const float* const at = rows.data() + row * cols;
      expected[row] = reference::Dot(vector.data(), at, cols);
      lengths[row] = reference::Dot(at, at, cols);
    }
    DotArgs args = {.vector = vector.data(),
                    .rows = rows.data(),
                    .cols = cols,
                    .output = actual.data(),
                    .squares = squares.data(),
                    .row_begin = 1,
                    .row_end = kRows};
    SimilarityKernels<>::Dots(args);
    args.output = alone.data(), args.squares = nullptr;
    SimilarityKernels<>::Dots(args);
    CHECK(actual == expected);
    CHECK(alone == expected);
    CHECK(squares == lengths);
  }
}

TEST_CASE("dot products of codes are exact") {
  for (const size_t cols : kLengths) {
    CAPTURE(cols);
    const auto vector = RandomBytes<int8_t>(3, cols), rows = RandomBytes<int8_t>(4, kRows * cols);
    std::vector<int64_t> actual(kRows, -1), expected = actual, squares = actual, lengths = actual;
    for (size_t row = 1; row < kRows; ++row) {
      const int8_t* const at = rows.data() + row * cols;
      expected[row] = reference::CodeDot(vector.data(), at, cols);
      lengths[row] = reference::CodeDot(at, at, cols);
    }
    SimilarityKernels<>::CodeDots({.vector = vector.data(),
                                   .rows = rows.data(),
                                   .cols = cols,
                                   .output = actual.data(),
                                   .squares = squares.data(),
                                   .row_begin = 1,
                                   .row_end = kRows});
    CHECK(actual == expected);
    CHECK(squares == lengths);
  }
}

TEST_CASE("sums of codes do not overflow") {
  const std::vector<int8_t> most(300000, -128);
  int64_t product = 0;
  SimilarityKernels<>::CodeDots({.vector = most.data(),
                                 .rows = most.data(),
                                 .cols = most.size(),
                                 .output = &product,
                                 .squares = nullptr,
                                 .row_begin = 0,
                                 .row_end = 1});
  CHECK(product == int64_t{300000} * 128 * 128);
}

TEST_CASE("distances of bits are counted over whole and part registers") {
  for (const size_t cols : kLengths) {
    CAPTURE(cols);
    const auto vector = RandomBytes<uint8_t>(5, cols), rows = RandomBytes<uint8_t>(6, kRows * cols);
    std::vector<int64_t> actual(kRows, -1), expected = actual;
    for (size_t row = 1; row < kRows; ++row) {
      expected[row] = reference::BitDistance(vector.data(), rows.data() + row * cols, cols);
    }
    SimilarityKernels<>::BitDistances({.vector = vector.data(),
                                       .rows = rows.data(),
                                       .cols = cols,
                                       .output = actual.data(),
                                       .row_begin = 1,
                                       .row_end = kRows});
    CHECK(actual == expected);
  }
}

}  // namespace similarity_test
}  // namespace skald::testing
