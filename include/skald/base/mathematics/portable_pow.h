// SPDX-License-Identifier: Apache-2.0
//
// Powers with the same result everywhere: the frequencies of rotary embeddings, and what chat templates compute. The C
// libraries' functions differ in the last bit. Errors are below 0.501 units in the last place, or below one where the
// result is subnormal. Pure; safe for concurrent calls.

#ifndef SKALD_BASE_MATHEMATICS_PORTABLE_POW_H_
#define SKALD_BASE_MATHEMATICS_PORTABLE_POW_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "skald/base/mathematics/double_double.h"
#include "skald/base/mathematics/portable_log.h"

namespace skald {

namespace internal {

/// e^x.
constexpr double ExpOf(DoubleDouble x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  if (x.high > 710.0) return std::numeric_limits<double>::infinity();
  if (x.high < -746.0) return 0.0;
  // x = n ln 2 + r, |r| <= ln(2) / 2.
  const double scaled = x.high * kLog2E;
  const int n = static_cast<int>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
  const DoubleDouble r = Add(x, Multiply({-static_cast<double>(n), 0.0}, kLn2));

  // The Taylor series: from r^6 / 6! on one double is enough, after r^17 / 17! the rest is below 2^-79.
  constexpr double kCoefficients[] = {1.0 / 355687428096000.0, 1.0 / 20922789888000.0, 1.0 / 1307674368000.0,
                                      1.0 / 87178291200.0,     1.0 / 6227020800.0,     1.0 / 479001600.0,
                                      1.0 / 39916800.0,        1.0 / 3628800.0,        1.0 / 362880.0,
                                      1.0 / 40320.0,           1.0 / 5040.0,           1.0 / 720.0};
  constexpr DoubleDouble kFirst[] = {Divide({1.0, 0.0}, {120.0, 0.0}),
                                     Divide({1.0, 0.0}, {24.0, 0.0}),
                                     Divide({1.0, 0.0}, {6.0, 0.0}),
                                     {0.5, 0.0},
                                     {1.0, 0.0},
                                     {1.0, 0.0}};
  double rest = 0.0;
  for (const double coefficient : kCoefficients) rest = rest * r.high + coefficient;
  DoubleDouble sum = {rest, 0.0};
  for (const DoubleDouble& coefficient : kFirst) sum = Add(coefficient, Multiply(r, sum));
  // In two steps, as 2^n may be beyond the doubles where the result is not.
  return sum.high * PowerOfTwo(n / 2) * PowerOfTwo(n - n / 2);
}

// Is this finite number a whole one?
constexpr bool IsWhole(double x) {
  const double magnitude = x < 0.0 ? -x : x;
  return magnitude >= 0x1p53 || magnitude == static_cast<double>(static_cast<long long>(magnitude));
}

constexpr bool IsOdd(double x) {
  const double magnitude = x < 0.0 ? -x : x;
  return IsWhole(x) && magnitude < 0x1p53 && static_cast<long long>(magnitude) % 2 == 1;
}

// x^y where one of them is zero or not finite; x >= 0, y != 0.
constexpr double PowerOfLimits(double x, double y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool grows = y == kInfinity || y == -kInfinity ? (x > 1.0) == (y > 0.0) : (x == kInfinity) == (y > 0.0);
  return grows ? kInfinity : 0.0;
}

}  // namespace internal

/// Returns x^y, in special cases what C's pow returns.
constexpr double PortablePow(double x, double y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  const bool is_limit_of_y = y == kInfinity || y == -kInfinity;
  if (x == -1.0 && is_limit_of_y) return 1.0;
  const bool is_negative = std::bit_cast<uint64_t>(x) >> 63 != 0;
  const double base = is_negative ? -x : x;
  const double sign = is_negative && !is_limit_of_y && internal::IsOdd(y) ? -1.0 : 1.0;
  if (base == 0.0 || base == kInfinity || is_limit_of_y) return sign * internal::PowerOfLimits(base, y);
  if (is_negative && !internal::IsWhole(y)) return std::numeric_limits<double>::quiet_NaN();

  const bool is_subnormal = base < std::numeric_limits<double>::min();
  internal::DoubleDouble logarithm = internal::LogOf({is_subnormal ? base * 0x1p54 : base, 0.0});
  if (is_subnormal) logarithm = internal::Add(logarithm, internal::Multiply({-54.0, 0.0}, internal::kLn2));
  const double estimate = logarithm.high * y;
  if (estimate > 710.0) return sign * kInfinity;
  if (estimate < -746.0) return sign * 0.0;
  if (estimate < 0x1p-60 && estimate > -0x1p-60) return sign;  // y may be too small for an exact product
  return sign * internal::ExpOf(internal::Multiply(logarithm, {y, 0.0}));
}

}  // namespace skald

#endif  // SKALD_BASE_MATHEMATICS_PORTABLE_POW_H_
