// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include "doctest/doctest.h"
#include "skald/base/mathematics/near_sin_cos.h"
#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/mathematics/portable_sin_cos.h"
#include "skald/base/numbers/fingerprint.h"
#include "tests/base/portable_mathematics_values.h"

namespace skald {
namespace portable_mathematics_test {

namespace exact = portable_mathematics_values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

static_assert(PortableSinCos(0.0).sin == 0.0 && PortableSinCos(0.0).cos == 1.0);
static_assert(PortableLog(1.0) == 0.0 && PortableLog1p(0.0) == 0.0);
static_assert(PortablePow(10.0, 22.0) == 1e22 && PortablePow(2.0, 0.5) == 0x1.6a09e667f3bcdp+0);

TEST_CASE("sines, cosines, logarithms and powers are the exact results, rounded once") {
  for (const auto& value : exact::kSinCosValues) {
    CHECK_MESSAGE(PortableSinCos(value.x).sin == value.sin, value.x);
    CHECK_MESSAGE(PortableSinCos(value.x).cos == value.cos, value.x);
  }
  for (const auto& value : exact::kLogValues) CHECK_MESSAGE(PortableLog(value.x) == value.log, value.x);
  for (const auto& value : exact::kLog1pValues) CHECK_MESSAGE(PortableLog1p(value.x) == value.log1p, value.x);
  for (const auto& value : exact::kPowValues) {
    CHECK_MESSAGE(PortablePow(value.x, value.y) == value.pow, value.x << " to the " << value.y);
  }
}

TEST_CASE("sine is odd and cosine even") {
  for (const auto& [x, sin, cos] : exact::kSinCosValues) {
    CHECK(PortableSinCos(-x).sin == -sin);
    CHECK(PortableSinCos(-x).cos == cos);
  }
  CHECK(std::signbit(PortableSinCos(-0.0).sin));
}

TEST_CASE("near sines and cosines are as near as they say, and are so but where they are beyond reach") {
  const auto is_within = [](double found, double expected) {
    return std::abs(found - expected) <= kSinCosNearness * std::abs(expected);
  };
  int asked = 0, near = 0;
  const auto check = [&](double x) {
    const NearSinAndCos found = NearSinCos(x);
    const SinAndCos exact = PortableSinCos(x);
    ++asked, near += found.is_near ? 1 : 0;
    if (found.is_near && is_within(found.sin, exact.sin) && is_within(found.cos, exact.cos)) return;
    CHECK_MESSAGE(!found.is_near, x);
  };
  for (int i = 1; i <= 200000; ++i) {
    check(0x1p-40 * std::pow(2.0, i * 3.1e-4));         // to 2^22, evenly in the exponent
    check(-0.7310585786300049 * i);                     // the fraction of a quarter turn is evenly spread
    check(1.5707963267948966 * (i * 13) * (1 + 1e-9));  // near whole quarter turns
  }
  CHECK(near == asked);
  for (const double x : {0.0, 0x1p-41, 1.5707963267948966, 0x1.0p23, 1e300, kInfinity, -kInfinity}) {
    CHECK_MESSAGE(!NearSinCos(x).is_near, x);
  }
  for (const auto& value : exact::kSinCosValues) check(value.x);
}

// C fixes zeros, infinities and NaNs, so its library has the same ones everywhere.
TEST_CASE("portable functions of limits are those of C") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), least = 0x1p-1074;
  const auto is_same = [](double a, double b) {
    if (b != 0.0 && std::isfinite(b)) return std::abs(a / b - 1.0) <= 0x1p-51;
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  };
  const double limits[] = {0.0,  -0.0, 1.0,       -1.0,       2.0, -2.0, 3.0,   -3.0,
                           0.5,  -0.5, kInfinity, -kInfinity, nan, 1e20, -1e20, 0x1.fffffffffffffp+1023,
                           least};
  for (const double x : limits) {
    if (std::isinf(x) || std::isnan(x)) {
      CHECK(std::isnan(PortableSinCos(x).sin));
      CHECK(std::isnan(PortableSinCos(x).cos));
    }
    CHECK_MESSAGE(is_same(PortableLog(x), std::log(x)) == true, x);
    CHECK_MESSAGE(is_same(PortableLog1p(x), std::log1p(x)) == true, x);
    for (const double y : limits) CHECK_MESSAGE(is_same(PortablePow(x, y), std::pow(x, y)), x << " to the " << y);
  }
  CHECK(PortableExp(kInfinity) == kInfinity);
  CHECK(PortableExp(709.0) < kInfinity);
}

TEST_CASE("the portable exponential of positive numbers is accurate") {
  for (int i = 1; i < 70970; ++i) {
    const double x = 0.01 * i;
    const long double expected = std::exp(static_cast<long double>(x));
    const long double bound = 2 * 0x1.0p-53L + std::numeric_limits<long double>::epsilon();
    CHECK_MESSAGE(std::abs(PortableExp(x) - expected) <= bound * expected, x);
  }
}

// Any system whose hash differs would answer differently.
TEST_CASE("portable functions have the same bits on every compiler and machine") {
  Fingerprint64 angles, logarithms, powers;
  for (int pair = 0; pair < 64; ++pair) {
    const double frequency = PortablePow(500000.0, -2.0 * pair / 128.0);
    powers.Add(frequency);
    for (int position = 1; position < 1000000; position += 997) {
      const SinAndCos turned = PortableSinCos(position * frequency);
      angles.Add(turned.sin).Add(turned.cos);
    }
  }
  for (int i = 1; i <= 100000; ++i) {
    const double x = 0.7310585786300049 * i;
    logarithms.Add(PortableLog(x)).Add(PortableLog1p(1.0 / x));
    powers.Add(PortablePow(x, 1.0 / i)).Add(PortableExp(-0.001 * x)).Add(PortableExp(0.001 * x));
  }
  CHECK(angles.value() == 14004832961409397024u);
  CHECK(logarithms.value() == 3097041035074054463u);
  CHECK(powers.value() == 13506028308806749587u);
}

}  // namespace portable_mathematics_test
}  // namespace skald
