// SPDX-License-Identifier: Apache-2.0
//
// Values of bfloat16, Highway's type, and conversions to and from the types of weights and cached state. They are
// inline, so that loops over them vectorise.

#ifndef SKALD_BASE_NUMBERS_BF16_H_
#define SKALD_BASE_NUMBERS_BF16_H_

#include <bit>
#include <cstdint>

#include "skald/base/highway.h"
#include "skald/base/numbers/numeric.h"

namespace skald {

/// Returns `value` rounded to bfloat16, to nearest, ties to even (arithmetic contract, R1). NaN stays NaN.
inline bf16 RoundToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  const uint32_t rounded = is_nan ? (bits | 0x00400000u) : bits + 0x7FFFu + ((bits >> 16) & 1u);
  return std::bit_cast<bf16>(static_cast<uint16_t>(rounded >> 16));
}

/// Returns the number as a float, exactly.
inline float ToFloat(bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(std::bit_cast<uint16_t>(value)) << 16);
}
inline float ToFloat(float value) { return value; }
inline float ToFloat(int8_t code) { return code; }

/// Returns `value` as a T: rounded for bf16, unchanged for float.
template <class T>
inline T FromFloat(float value) {
  if constexpr (sizeof(T) == sizeof(float))
    return value;
  else
    return RoundToBF16(value);
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_BF16_H_
