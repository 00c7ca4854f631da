// SPDX-License-Identifier: Apache-2.0
//
// Sums of two doubles, which carry about 106 bits. The functions of this room compute in them what a double is too
// short for. Only additions, multiplications, divisions and operations on bits, in a fixed order, under
// -ffp-contract=off and rounding to nearest, so that every system gets the same bits. No fused multiply-add: where the
// hardware has none, some C libraries round it twice.

#ifndef SKALD_BASE_MATHEMATICS_DOUBLE_DOUBLE_H_
#define SKALD_BASE_MATHEMATICS_DOUBLE_DOUBLE_H_

#include <bit>
#include <cstdint>

namespace skald::internal {

/// The number high + low; low is at most half a unit in the last place of high.
struct DoubleDouble {
  double high = 0.0;
  double low = 0.0;
};

/// a + b exactly, where |a| >= |b| or a is zero (Dekker 1971, "A floating-point technique for extending the available
/// precision").
constexpr DoubleDouble FastTwoSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly (Knuth, "The art of computer programming", volume 2, section 4.2.2).
constexpr DoubleDouble TwoSum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// The upper 26 bits of x, rounded. x minus them has 26 bits too, so products of such halves are exact.
constexpr double UpperHalf(double x) {
  constexpr uint64_t kLowerBits = (uint64_t{1} << 27) - 1, kRounder = uint64_t{1} << 26;
  return std::bit_cast<double>((std::bit_cast<uint64_t>(x) + kRounder) & ~kLowerBits);
}

/// a * b exactly, if neither overflows nor comes near 2^-960 (Dekker).
constexpr DoubleDouble TwoProduct(double a, double b) {
  const double product = a * b;
  const double a_high = UpperHalf(a), a_low = a - a_high, b_high = UpperHalf(b), b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// Relative errors of the following are below 2^-100, unless a sum cancels.
constexpr DoubleDouble Add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = TwoSum(a.high, b.high);
  return FastTwoSum(sum.high, sum.low + (a.low + b.low));
}

constexpr DoubleDouble Multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = TwoProduct(a.high, b.high);
  return FastTwoSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

constexpr DoubleDouble Divide(DoubleDouble a, DoubleDouble b) {
  const double quotient = a.high / b.high;
  const DoubleDouble product = Multiply({quotient, 0.0}, b);
  const DoubleDouble rest = Add(a, {-product.high, -product.low});
  return FastTwoSum(quotient, rest.high / b.high);
}

/// 2^exponent, -1022 <= exponent <= 1023.
constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// The logarithm of 2.
inline constexpr DoubleDouble kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

}  // namespace skald::internal

#endif  // SKALD_BASE_MATHEMATICS_DOUBLE_DOUBLE_H_
