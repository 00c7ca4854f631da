// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/numeric.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_
#define SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_

#include "skald/base/numbers/numeric.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE bf16 RoundToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  const uint32_t rounded = is_nan ? (bits | 0x00400000u) : bits + 0x7FFFu + ((bits >> 16) & 1u);
  return std::bit_cast<bf16>(static_cast<uint16_t>(rounded >> 16));
}

SKALD_INLINE float ToFloat(bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(std::bit_cast<uint16_t>(value)) << 16);
}

SKALD_INLINE float FromHalf(uint16_t bits) {
  constexpr uint32_t kRebias = (127u - 15u) << 23;      // between the exponents of the two formats
  constexpr uint32_t kSmallest = kRebias + (1u << 23);  // 2^-14, the smallest normal half
  const uint32_t magnitude = (bits & 0x7FFFu) << 13;
  const uint32_t rebiased = magnitude + kRebias + (magnitude >= 0x0F800000u ? kRebias : 0u);  // keeps infinity, NaN
  const float subnormal = std::bit_cast<float>(magnitude + kSmallest) - std::bit_cast<float>(kSmallest);
  const uint32_t value = magnitude < (1u << 23) ? std::bit_cast<uint32_t>(subnormal) : rebiased;
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_
