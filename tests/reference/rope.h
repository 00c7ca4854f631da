// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding of one head, half-split layout.

#ifndef SKALD_TESTS_REFERENCE_ROPE_H_
#define SKALD_TESTS_REFERENCE_ROPE_H_

#include <cmath>
#include <cstddef>

namespace skald::reference {

inline void RotateHead(float* x, const float* cos, const float* sin, size_t head_dim) {
  const size_t half = head_dim / 2;
  for (size_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = std::fma(a, cos[i], -(b * sin[i]));
    x[i + half] = std::fma(a, sin[i], b * cos[i]);
  }
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_ROPE_H_
