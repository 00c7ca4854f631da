// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm and LayerNorm of one row.

#ifndef SKALD_TESTS_REFERENCE_NORM_H_
#define SKALD_TESTS_REFERENCE_NORM_H_

#include <cmath>
#include <cstddef>

#include "tests/reference/sums.h"

namespace skald::reference {

// `output` may be `input`.
inline void Norm(const float* input, const float* weight, size_t size, float epsilon, float* output) {
  LaneSums squares;
  for (size_t i = 0; i < size; ++i) {
    float& lane = squares.lane[i % kLanes];
    lane = std::fma(input[i], input[i], lane);
  }
  const float mean = squares.Tree() / static_cast<float>(size);
  const float scale = 1.0f / std::sqrt(mean + epsilon);
  for (size_t i = 0; i < size; ++i) output[i] = (input[i] * scale) * weight[i];
}

// Without a weight, and without a bias, where those are null. `output` may be `input`.
inline void LayerNorm(const float* input, const float* weight, const float* bias, size_t size, float epsilon,
                      float* output) {
  LaneSums sums, squares;
  for (size_t i = 0; i < size; ++i) sums.lane[i % kLanes] += input[i];
  const float mean = sums.Tree() / static_cast<float>(size);
  for (size_t i = 0; i < size; ++i) {
    float& lane = squares.lane[i % kLanes];
    const float deviation = input[i] - mean;
    lane = std::fma(deviation, deviation, lane);
  }
  const float scale = 1.0f / std::sqrt(squares.Tree() / static_cast<float>(size) + epsilon);
  for (size_t i = 0; i < size; ++i) {
    const float scaled = (input[i] - mean) * scale;
    output[i] = bias != nullptr     ? std::fma(scaled, weight[i], bias[i])
                : weight != nullptr ? scaled * weight[i]
                                    : scaled;
  }
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_NORM_H_
