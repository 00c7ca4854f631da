// SPDX-License-Identifier: Apache-2.0
//
// Sine and cosine with the same result everywhere: the angles of rotary embeddings. The C libraries' functions differ
// in the last bit. Errors are below 0.501 units in the last place, so that a float made of a result is all but always
// the one nearest to the exact value. Pure; safe for concurrent calls.

#ifndef SKALD_BASE_MATHEMATICS_PORTABLE_SIN_COS_H_
#define SKALD_BASE_MATHEMATICS_PORTABLE_SIN_COS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "skald/base/mathematics/double_double.h"

namespace skald {

struct SinAndCos {
  double sin;  ///< the sine
  double cos;  ///< the cosine
};

namespace internal {

/// An angle without its whole quarter turns: x = quarters * pi / 2 + rest, |rest| <= pi / 4.
struct ReducedAngle {
  unsigned quarters;  ///< modulo 4
  DoubleDouble rest;
};

// The 64 bits of a number of 32-bit digits, the lowest digit first, from bit `first` on.
constexpr uint64_t BitsFrom(const uint32_t* digits, size_t first) {
  const size_t digit = first / 32, shift = first % 32;
  const uint64_t low = digits[digit] | (uint64_t{digits[digit + 1]} << 32);
  return shift == 0 ? low : (low >> shift) | (uint64_t{digits[digit + 2]} << (64 - shift));
}

/// Reduces a finite x above pi / 4, exactly but for 2^-128 (Payne and Hanek 1983, "Radian reduction for trigonometric
/// functions"): x = mantissa * 2^exponent, and of the bits of 2 / pi only those count that change the quotient modulo
/// 4 or the first 128 bits of its fraction.
constexpr ReducedAngle ReduceAngle(double x) {
  // 2 / pi, 32 bits a digit, the highest first.
  constexpr uint32_t kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                                     0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
                                     0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
                                     0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
                                     0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
                                     0x1f8d5d08, 0x56033046};
  constexpr size_t kDigits = 7;
  const auto bits = std::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const size_t first = exponent < 2 ? 0 : static_cast<size_t>(exponent - 2) / 32;

  uint32_t product[kDigits + 3] = {};
  for (size_t half = 0; half < 2; ++half) {
    const uint64_t factor = (mantissa >> (32 * half)) & 0xffffffff;
    uint64_t carry = 0;
    for (size_t i = 0; i < kDigits; ++i) {
      carry += factor * kTwoOverPi[first + kDigits - 1 - i] + product[i + half];
      product[i + half] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    product[kDigits + half] = static_cast<uint32_t>(carry);
  }
  // The quotient is product * 2^-point.
  const auto point = static_cast<size_t>(32 * static_cast<int>(first + kDigits) - exponent);
  auto quarters = static_cast<unsigned>(BitsFrom(product, point) & 3);
  uint64_t high = BitsFrom(product, point - 64), low = BitsFrom(product, point - 128);
  const bool rounds_up = high >> 63 != 0;
  if (rounds_up) {  // the fraction minus 1, whose magnitude this is
    low = 0 - low;
    high = ~high + (low == 0 ? 1 : 0);
    quarters = (quarters + 1) & 3;
  }
  const int zeros = std::countl_zero(high | 1);  // no double comes nearer to a quarter turn than 2^-62
  if (zeros > 0) high = (high << zeros) | (low >> (64 - zeros)), low <<= zeros;
  const double scale = rounds_up ? -PowerOfTwo(-53 - zeros) : PowerOfTwo(-53 - zeros);
  const auto head = static_cast<double>(high >> 11);
  const auto tail = static_cast<double>(((high & 0x7ff) << 42) | (low >> 22)) * PowerOfTwo(-53);
  constexpr DoubleDouble kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  return {quarters, Multiply(FastTwoSum(head * scale, tail * scale), kHalfPi)};
}

// The Taylor series. Their first terms need two doubles; of the others one is enough.

// sin r, |r| <= pi / 4; square = r^2. The first term that is left out is below 2^-72 of the sum.
constexpr double SinSeries(DoubleDouble r, DoubleDouble square) {
  constexpr double kCoefficients[] = {
      -1.0 / 121645100408832000.0, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0,
      -1.0 / 39916800.0,           1.0 / 362880.0,          -1.0 / 5040.0};
  constexpr DoubleDouble kThird = Divide({-1.0, 0.0}, {6.0, 0.0}), kFifth = Divide({1.0, 0.0}, {120.0, 0.0});
  double rest = 0.0;
  for (const double coefficient : kCoefficients) rest = rest * square.high + coefficient;
  DoubleDouble sum = Add(kFifth, TwoProduct(square.high, rest));
  sum = Add(kThird, Multiply(square, sum));
  sum = Add(r, Multiply(r, Multiply(square, sum)));
  return sum.high;
}

// cos r of the same.
constexpr double CosSeries(DoubleDouble square) {
  constexpr double kCoefficients[] = {
      1.0 / 2432902008176640000.0, -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0,
      1.0 / 479001600.0,           -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0};
  constexpr DoubleDouble kFourth = Divide({1.0, 0.0}, {24.0, 0.0});
  double rest = 0.0;
  for (const double coefficient : kCoefficients) rest = rest * square.high + coefficient;
  DoubleDouble sum = Add(kFourth, TwoProduct(square.high, rest));
  sum = Add({-0.5, 0.0}, Multiply(square, sum));
  sum = Add({1.0, 0.0}, Multiply(square, sum));
  return sum.high;
}

}  // namespace internal

/// Returns sine and cosine of x radians; NaNs if x is not finite.
constexpr SinAndCos PortableSinCos(double x) {
  constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
  const double magnitude = x < 0.0 ? -x : x;
  if (magnitude < 0x1p-27) return {x, 1.0};  // what is left out is below a quarter of a unit in the last place
  if (!(magnitude <= std::numeric_limits<double>::max())) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  internal::ReducedAngle angle = {0, {magnitude, 0.0}};
  if (magnitude > kQuarterPi) angle = internal::ReduceAngle(magnitude);
  const internal::DoubleDouble square = internal::Multiply(angle.rest, angle.rest);
  double sine = internal::SinSeries(angle.rest, square), cosine = internal::CosSeries(square);
  if ((angle.quarters & 1) != 0) {
    const double turned = -sine;
    sine = cosine, cosine = turned;
  }
  if ((angle.quarters & 2) != 0) sine = -sine, cosine = -cosine;
  return {x < 0.0 ? -sine : sine, cosine};
}

}  // namespace skald

#endif  // SKALD_BASE_MATHEMATICS_PORTABLE_SIN_COS_H_
