// SPDX-License-Identifier: Apache-2.0
//
// Natural logarithms with the same result everywhere: probabilities, stretched contexts, decays. The C libraries'
// functions differ in the last bit. Errors are below 0.501 units in the last place. Pure; safe for concurrent calls.

#ifndef SKALD_BASE_MATHEMATICS_PORTABLE_LOG_H_
#define SKALD_BASE_MATHEMATICS_PORTABLE_LOG_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "skald/base/mathematics/double_double.h"

namespace skald {

namespace internal {

/// The logarithm of a positive, normal number, with a relative error below 2^-75.
constexpr DoubleDouble LogOf(DoubleDouble x) {
  // x = 2^k m with m between the square roots of 1/2 and 2. log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172
  // (the series of fdlibm's e_log.c, Sun Microsystems 1993, here without its approximation).
  const auto bits = std::bit_cast<uint64_t>(x.high);
  int k = static_cast<int>(bits >> 52) - 1023;
  double high = std::bit_cast<double>((bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1023} << 52));
  if (high > 0x1.6a09e667f3bcdp+0) high *= 0.5, ++k;
  const double low = x.low == 0.0 ? 0.0 : x.low * (high / x.high);
  const DoubleDouble s = Divide(Add({high - 1.0, 0.0}, {low, 0.0}), Add({high, 0.0}, {1.0, low}));
  const DoubleDouble square = Multiply(s, s);

  // The sum of s^(2j) / (2j + 1): from j = 4 on one double is enough, after j = 15 the rest is below 2^-85.
  constexpr double kCoefficients[] = {1.0 / 31.0, 1.0 / 29.0, 1.0 / 27.0, 1.0 / 25.0, 1.0 / 23.0, 1.0 / 21.0,
                                      1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0};
  constexpr DoubleDouble kFirst[] = {Divide({1.0, 0.0}, {7.0, 0.0}), Divide({1.0, 0.0}, {5.0, 0.0}),
                                     Divide({1.0, 0.0}, {3.0, 0.0})};
  double rest = 0.0;
  for (const double coefficient : kCoefficients) rest = rest * square.high + coefficient;
  DoubleDouble sum = {rest, 0.0};
  for (const DoubleDouble& coefficient : kFirst) sum = Add(coefficient, Multiply(square, sum));
  const DoubleDouble logarithm = Add(s, Multiply(s, Multiply(square, sum)));
  return Add(Multiply({static_cast<double>(k), 0.0}, kLn2), {2.0 * logarithm.high, 2.0 * logarithm.low});
}

}  // namespace internal

/// Returns the natural logarithm of x; -infinity of zero, NaN below.
constexpr double PortableLog(double x) {
  if (x != x || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (x > std::numeric_limits<double>::max()) return x;
  if (x >= std::numeric_limits<double>::min()) return internal::LogOf({x, 0.0}).high;
  constexpr double kToNormal = 54.0;
  const internal::DoubleDouble shift = internal::Multiply({-kToNormal, 0.0}, internal::kLn2);
  return internal::Add(internal::LogOf({x * 0x1p54, 0.0}), shift).high;
}

/// Returns log(1 + x), exact for small x too; -infinity of -1, NaN below.
constexpr double PortableLog1p(double x) {
  const double magnitude = x < 0.0 ? -x : x;
  if (magnitude < 0x1p-54) return x;
  if (!(x > -1.0) || x > std::numeric_limits<double>::max()) return PortableLog(1.0 + x);
  return internal::LogOf(internal::TwoSum(1.0, x)).high;
}

}  // namespace skald

#endif  // SKALD_BASE_MATHEMATICS_PORTABLE_LOG_H_
