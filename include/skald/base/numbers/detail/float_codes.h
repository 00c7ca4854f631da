// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/float_codes.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_FLOAT_CODES_H_
#define SKALD_BASE_NUMBERS_DETAIL_FLOAT_CODES_H_

#include "skald/base/numbers/float_codes.h"

#include <cmath>
#include <limits>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE float FromE4M3(unsigned bits) {
  const unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & 127) == 127) return std::numeric_limits<float>::quiet_NaN();
  const int shift = exponent == 0 ? -9 : static_cast<int>(exponent) - 10;
  const float magnitude = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 8), shift);
  return bits & 128 ? -magnitude : magnitude;
}

SKALD_INLINE uint8_t ToE4M3(float value) {
  unsigned code = 0;  // magnitudes rise with their codes
  for (unsigned step = 64; step != 0; step /= 2) {
    const unsigned next = code + step;
    if (next < 127 && FromE4M3(next) <= std::fabs(value)) code = next;
  }
  const bool is_nearer_above = code < 126 && FromE4M3(code + 1) - std::fabs(value) < std::fabs(value) - FromE4M3(code);
  return static_cast<uint8_t>(code + (is_nearer_above ? 1 : 0) + (std::signbit(value) ? 128 : 0));
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_FLOAT_CODES_H_
