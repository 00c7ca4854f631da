// SPDX-License-Identifier: Apache-2.0

#include "skald/base/mathematics/portable_exp.h"

#include <cmath>
#include <limits>

#include "doctest/doctest.h"
#include "skald/sampling/random.h"

namespace skald {
namespace portable_exp_test {

static_assert(PortableExp(0.0) == 1.0);
static_assert(PortableExp(-701.0) == 0.0);

bool IsAccurate(double x) {
  const long double expected = std::exp(static_cast<long double>(x));
  // The error bound of the header, plus one unit in the last place for the C library.
  const long double error = 2 * 0x1.0p-53L + std::numeric_limits<long double>::epsilon();
  return std::abs(PortableExp(x) - expected) <= error * expected;
}

TEST_CASE("the portable exponential is accurate over its whole range") {
  for (uint64_t i = 0; i < 200000; ++i) {
    const double x = -700.0 * UniformAt({1, 1}, i);
    CHECK_MESSAGE(IsAccurate(x), x);
  }
}

TEST_CASE("the portable exponential is accurate near zero and where its range reduction switches") {
  for (int exponent = 0; exponent >= -1074; --exponent) {
    CHECK(IsAccurate(-std::ldexp(1.0, exponent)));
  }
  for (int n = 0; n < 1009; ++n) {
    const double edge = -(n + 0.5) * std::log(2.0);
    for (const double x : {edge, std::nextafter(edge, 0.0), std::nextafter(edge, -800.0)}) {
      CHECK_MESSAGE(IsAccurate(x), x);
    }
  }
}

TEST_CASE("the portable exponential of minus infinity and of anything below -700 is zero") {
  CHECK(PortableExp(-INFINITY) == 0.0);
  CHECK(PortableExp(std::nextafter(-700.0, -INFINITY)) == 0.0);
  CHECK(PortableExp(-1e300) == 0.0);
  CHECK(PortableExp(-700.0) > 0.0);
}

TEST_CASE("the portable exponential has the same bits on every compiler and machine") {
  CHECK(PortableExp(-1.0) == 0x1.78b56362cef38p-2);
  double sum = 0.0;
  for (int i = 0; i < 7000; ++i) sum += PortableExp(-0.1 * i);
  CHECK(sum == 0x1.5044415aca445p+3);
}

}  // namespace portable_exp_test
}  // namespace skald
