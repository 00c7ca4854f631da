// SPDX-License-Identifier: Apache-2.0

#include "skald/base/flush_denormals.h"

#include <limits>

#include "doctest/doctest.h"

namespace skald {
namespace {

float Halve(float value) {
  volatile float half = 0.5f;  // keeps the compiler from folding the product
  return value * half;
}

TEST_CASE("denormals are flushed while the guard lives and kept before and after") {
  const float smallest = std::numeric_limits<float>::min();
  CHECK(Halve(smallest) > 0.0f);
#if HWY_ARCH_X86 || HWY_ARCH_ARM_A64
  {
    const FlushDenormals flush;
    CHECK(Halve(smallest) == 0.0f);
    const FlushDenormals nested;
    CHECK(Halve(smallest) == 0.0f);
  }
#endif
  CHECK(Halve(smallest) > 0.0f);
}

}  // namespace
}  // namespace skald
