// SPDX-License-Identifier: Apache-2.0
//
// The exponential function with the same result everywhere. The C library's exp differs in the last bit between
// libraries and even between CPUs, and one bit can move a draw to another token. This one uses only double additions
// and multiplications in a fixed order (under -ffp-contract=off and the default rounding to nearest). Pure; safe for
// concurrent calls.

#ifndef SKALD_BASE_MATHEMATICS_PORTABLE_EXP_H_
#define SKALD_BASE_MATHEMATICS_PORTABLE_EXP_H_

#include <bit>
#include <cstdint>

namespace skald {

/// Returns e^x with a relative error below 2 * 2^-53; below x = -700, where e^x < 1e-304, returns 0, and infinity where
/// e^x is beyond the doubles.
constexpr double PortableExp(double x) {
  // x = n ln 2 + r with |r| <= ln(2) / 2. ln 2 is split so that n * kLn2High is exact: the high
  // part has 32 significant bits and |n| < 2^11 (Cody and Waite, "Software manual for the
  // elementary functions", 1980).
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kLowest = -700.0, kHighest = 710.0;
  const double clamped = x < kLowest ? kLowest : x > kHighest ? kHighest : x;
  // Near 1.5 * 2^52 neighbouring doubles differ by 1, so the addition rounds to an integer. That integer is then in the
  // low bits of the sum, in two's complement.
  constexpr double kRounder = 0x1.8p52;
  const double shifted = clamped * kLog2E + kRounder;
  const double n = shifted - kRounder;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;

  // Taylor series up to r^13 / 13!; the first omitted term is below 0.3466^14 / 14! = 5e-18.
  constexpr double kReciprocalFactorials[] = {1.0 / 6227020800.0,
                                              1.0 / 479001600.0,
                                              1.0 / 39916800.0,
                                              1.0 / 3628800.0,
                                              1.0 / 362880.0,
                                              1.0 / 40320.0,
                                              1.0 / 5040.0,
                                              1.0 / 720.0,
                                              1.0 / 120.0,
                                              1.0 / 24.0,
                                              1.0 / 6.0,
                                              1.0 / 2.0,
                                              1.0,
                                              1.0};
  double sum = 0.0;
  for (const double coefficient : kReciprocalFactorials) sum = sum * r + coefficient;

  // n - 1 + bias in the low 12 bits: 2^n itself may be infinite where the result is not. Doubling is exact.
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) + 1022;
  return x < kLowest ? 0.0 : sum * 2.0 * std::bit_cast<double>(exponent << 52);
}

}  // namespace skald

#endif  // SKALD_BASE_MATHEMATICS_PORTABLE_EXP_H_
