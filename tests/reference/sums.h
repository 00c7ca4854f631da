// SPDX-License-Identifier: Apache-2.0
//
// The orders of summation that the arithmetic contract fixes, written out for one sum at a time.

#ifndef SKALD_TESTS_REFERENCE_SUMS_H_
#define SKALD_TESTS_REFERENCE_SUMS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald::reference {

// Adds x(k) * w(k) for k in [begin, end) to `total` as R1 says. `x` and `w` return floats that T can represent.
template <class T, class X, class W>
float AddProducts(float total, size_t begin, size_t end, X x, W w) {
  if constexpr (std::is_same_v<T, float>) {
    for (size_t k = begin; k < end; ++k) total = std::fma(x(k), w(k), total);
  } else {
    for (size_t tile = begin / kTile * kTile; tile < end; tile += kTile) {
      float chain[2] = {0.0f, 0.0f};  // even k, odd k
      for (size_t k = std::max(begin, tile); k < std::min(end, tile + kTile); ++k) {
        chain[k % 2] = std::fma(x(k), w(k), chain[k % 2]);
      }
      total += chain[0] + chain[1];
    }
  }
  return total;
}

// The 16 virtual lanes of R3: element i goes to lane i mod 16, and the tree at the end is fixed.
struct LaneSums {
  std::array<float, kLanes> lane{};

  float Tree() const {
    std::array<float, kLanes> sum = lane;
    for (size_t half = kLanes / 2; half != 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) sum[i] = sum[i] + sum[i + half];
    }
    return sum[0];
  }
};

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_SUMS_H_
