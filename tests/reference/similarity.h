// SPDX-License-Identifier: Apache-2.0
//
// Dot products of vectors, and distances of bits.

#ifndef SKALD_TESTS_REFERENCE_SIMILARITY_H_
#define SKALD_TESTS_REFERENCE_SIMILARITY_H_

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/packed_layout.h"

namespace skald::reference {

// R3 in double.
inline double Dot(const float* a, const float* b, size_t size) {
  std::array<double, kLanes> lane{};
  for (size_t i = 0; i < size; ++i) lane[i % kLanes] = std::fma(double{a[i]}, double{b[i]}, lane[i % kLanes]);
  for (size_t half = kLanes / 2; half != 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

inline int64_t CodeDot(const int8_t* a, const int8_t* b, size_t size) {
  int64_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum += int64_t{a[i]} * b[i];
  return sum;
}

inline int64_t BitDistance(const uint8_t* a, const uint8_t* b, size_t size) {
  int64_t differ = 0;
  for (size_t i = 0; i < size; ++i) differ += std::popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return differ;
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_SIMILARITY_H_
