// SPDX-License-Identifier: Apache-2.0
//
// IEEE 754 binary16, in which files store weights and the scales of quantised ones.

#ifndef SKALD_WEIGHTS_HALF_H_
#define SKALD_WEIGHTS_HALF_H_

#include <bit>
#include <cstdint>

namespace skald::internal {

// Returns the value of IEEE binary16 `bits`, exactly. Without branches, so that loops over it
// vectorise, and without arithmetic on subnormal numbers, which a caller may have told the CPU to
// flush to zero.
inline float FromHalf(uint16_t bits) {
  constexpr uint32_t kRebias = (127u - 15u) << 23;      // between the exponents of the two formats
  constexpr uint32_t kSmallest = kRebias + (1u << 23);  // 2^-14, the smallest normal half
  const uint32_t magnitude = (bits & 0x7FFFu) << 13;
  const uint32_t rebiased =
      magnitude + kRebias + (magnitude >= 0x0F800000u ? kRebias : 0u);  // keeps infinity, NaN
  const float subnormal =
      std::bit_cast<float>(magnitude + kSmallest) - std::bit_cast<float>(kSmallest);
  const uint32_t value = magnitude < (1u << 23) ? std::bit_cast<uint32_t>(subnormal) : rebiased;
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_HALF_H_
