// SPDX-License-Identifier: Apache-2.0
//
// Sums in sixteen lanes, which are the same on every target: rule R3 of kernels/ARITHMETIC.md, but that terms are
// rounded before they are added.

#ifndef SKALD_BASE_NUMBERS_SUM_OF_LANES_H_
#define SKALD_BASE_NUMBERS_SUM_OF_LANES_H_

#include <cstddef>

namespace skald::internal {

/// Returns the sum of term(i) for all i below `size`.
template <class Term>
float SumOfLanes(size_t size, Term term) {
  constexpr size_t kCount = 16;
  float lanes[kCount] = {};
  size_t i = 0;
  for (; i + kCount <= size; i += kCount) {
    for (size_t lane = 0; lane < kCount; ++lane) lanes[lane] += term(i + lane);
  }
  for (size_t lane = 0; i + lane < size; ++lane) lanes[lane] += term(i + lane);
  for (size_t half = kCount / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace skald::internal

#endif  // SKALD_BASE_NUMBERS_SUM_OF_LANES_H_
