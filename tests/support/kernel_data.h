// SPDX-License-Identifier: Apache-2.0
//
// Inputs for kernel tests, and the comparison of their outputs with a reference.

#ifndef SKALD_TESTS_SUPPORT_KERNEL_DATA_H_
#define SKALD_TESTS_SUPPORT_KERNEL_DATA_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "tests/support/targets.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define SKALD_MEMORY_SANITIZER 1
#endif
#endif

namespace skald::testing {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
inline constexpr double kBF16Epsilon = 0x1p-8;  // largest relative error of one rounding to bfloat16

// Returns `size` numbers in [-magnitude, magnitude), the same on every machine.
inline std::vector<float> RandomFloats(uint32_t seed, size_t size, float magnitude = 1.0f) {
  std::mt19937 generator(seed);
  std::vector<float> values(size);
  for (float& v : values) v = magnitude * (static_cast<float>(generator() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

// Returns memory with arbitrary content for a kernel, which must have no influence: as floats, bfloat16 or integers
// nearly the largest numbers there are, and uninitialised for the memory sanitizer.
template <class T>
AlignedBuffer<T> UnwrittenBuffer(size_t size, std::byte filling = std::byte{0x7F}) {
  AlignedBuffer<T> buffer(size);
  std::memset(static_cast<void*>(buffer.data()), std::to_integer<int>(filling), size * sizeof(T));
#if SKALD_MEMORY_SANITIZER
  __msan_poison(buffer.data(), size * sizeof(T));
#endif
  return buffer;
}

template <class T>
std::vector<T> RoundedTo(const std::vector<float>& values) {
  std::vector<T> rounded;
  for (const float v : values) rounded.push_back(FromFloat<T>(v));
  return rounded;
}

// Returns a row-major [n, k] matrix in the packed layout. Outputs that pad the last panel are NaN, so that a
// kernel which lets them escape is found out; terms that pad K are zero, as the layout demands.
template <class T>
AlignedBuffer<T> Pack(const std::vector<T>& matrix, size_t n, size_t k) {
  const size_t padded_k = RoundUp(k, kTile);
  AlignedBuffer<T> packed(PackedSize(n, k));
  for (size_t i = 0; i < RoundUp(n, kLanes); ++i) {
    for (size_t j = 0; j < padded_k; ++j) {
      packed[PackedIndex<T>(i, j, padded_k)] =
          i >= n ? FromFloat<T>(kNaN) : FromFloat<T>(j < k ? ToFloat(matrix[i * k + j]) : 0.0f);
    }
  }
  return packed;
}

// Returns "" if `actual` equals `expected`, else a sentence about the first difference. Equal means the same bits
// on targets with FMA, and elsewhere a difference of at most `tolerance`. NaN equals NaN.
inline std::string Difference(std::span<const float> actual, std::span<const float> expected, double tolerance) {
  if (actual.size() != expected.size()) return "sizes differ";
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::bit_cast<uint32_t>(actual[i]) == std::bit_cast<uint32_t>(expected[i])) continue;
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    if (!TargetHasFma() && std::abs(double{actual[i]} - double{expected[i]}) <= tolerance) continue;
    return "at " + std::to_string(i) + ": " + std::to_string(actual[i]) + " instead of " + std::to_string(expected[i]);
  }
  return "";
}

// Likewise for results that must be the same bits on every target: copies, roundings, and sums in another
// arrangement.
template <class T>
std::string BitDifference(std::span<const T> actual, std::span<const T> expected) {
  for (size_t i = 0; i < std::max(actual.size(), expected.size()); ++i) {
    if (i >= actual.size() || i >= expected.size()) return "sizes differ";
    const float a = ToFloat(actual[i]), b = ToFloat(expected[i]);
    if (std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b)) {
      return "at " + std::to_string(i) + ": " + std::to_string(a) + " instead of " + std::to_string(b);
    }
  }
  return "";
}

template <class Container>
std::string BitDifference(const Container& actual, const Container& expected) {
  using T = typename Container::value_type;
  return BitDifference<T>(std::span<const T>(actual), std::span<const T>(expected));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_KERNEL_DATA_H_
