// SPDX-License-Identifier: Apache-2.0

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/bf16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "doctest/doctest.h"

namespace skald {
namespace numeric_test {

TEST_CASE("rounding to bfloat16 goes to the nearest value, ties to even") {
  for (uint32_t high = 0; high < 0x7F80u; ++high) {  // every finite positive bfloat16
    const float below = std::bit_cast<float>(high << 16);
    CHECK(ToFloat(RoundToBF16(below)) == below);
    const float tie = std::bit_cast<float>((high << 16) | 0x8000u);
    const uint32_t even = high + (high & 1u);
    CHECK(std::bit_cast<uint16_t>(RoundToBF16(tie)) == even);
    CHECK(std::bit_cast<uint16_t>(RoundToBF16(-tie)) == (even | 0x8000u));
    CHECK(std::bit_cast<uint16_t>(RoundToBF16(std::bit_cast<float>((high << 16) | 0x7FFFu))) == high);
    CHECK(std::bit_cast<uint16_t>(RoundToBF16(std::bit_cast<float>((high << 16) | 0x8001u))) == high + 1);
  }
}

TEST_CASE("infinities and NaN stay what they are") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(ToFloat(RoundToBF16(kInfinity)) == kInfinity);
  CHECK(ToFloat(RoundToBF16(-kInfinity)) == -kInfinity);
  for (const uint32_t bits : {0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    CHECK(std::isnan(ToFloat(RoundToBF16(std::bit_cast<float>(bits)))));
  }
}

}  // namespace numeric_test
}  // namespace skald
