// SPDX-License-Identifier: Apache-2.0

#include "skald/base/threads/float_environment.h"
#include "hwy/detect_compiler_arch.h"

#include <cfenv>
#include <initializer_list>
#include <limits>

#include "doctest/doctest.h"

namespace skald {
namespace float_environment_test {

// volatile keeps the compiler from computing in advance.
float Halve(float value) {
  volatile float half = 0.5f, x = value;
  return x * half;
}
float Third() {
  volatile float one = 1.0f, three = 3.0f;
  return one / three;
}

#if HWY_ARCH_X86 || HWY_ARCH_ARM_A64
TEST_CASE("denormals are flushed while the guard lives and kept before and after") {
  const float smallest = std::numeric_limits<float>::min();
  CHECK(Halve(smallest) > 0.0f);
  {
    const FloatEnvironment contract;
    CHECK(Halve(smallest) == 0.0f);
    const FloatEnvironment nested;
    CHECK(Halve(smallest) == 0.0f);
  }
  CHECK(Halve(smallest) > 0.0f);
}

TEST_CASE("the caller's rounding does not matter and stays the caller's") {
  const float nearest = Third();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const float before = Third();
    float inside;
    {
      const FloatEnvironment contract;
      inside = Third();
    }
    const float after = Third();
    const int kept = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(inside == nearest);
    CHECK(after == before);
    CHECK(kept == mode);
  }
}

TEST_CASE("flags that computing raises are not seen afterwards") {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatEnvironment contract;
    (void)Third();
  }
  CHECK(std::fetestexcept(FE_INEXACT) == 0);
}
#endif

}  // namespace float_environment_test
}  // namespace skald
