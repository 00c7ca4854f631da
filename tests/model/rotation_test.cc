// SPDX-License-Identifier: Apache-2.0
//
// The floats of RoPE's angles are those of PortableSinCos, whichever way they are found.

#include "skald/model/rotation.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "doctest/doctest.h"
#include "skald/base/mathematics/portable_sin_cos.h"

namespace skald::testing {
namespace rotation_test {

constexpr size_t kRotaryDim = 128;

bool IsExact(const RopeSpec& rope, double position) {
  const Rotation rotation(rope, kRotaryDim);
  std::array<float, kRotaryDim / 2> cos, sin, turned_cos, turned_sin;
  rotation.Angles(position, cos.data(), sin.data());
  rotation.Turn(position, turned_cos.data(), turned_sin.data());
  for (size_t pair = 0; pair < kRotaryDim / 2; ++pair) {
    const SinAndCos exact = PortableSinCos(position * RopeFrequency(rope, pair, kRotaryDim));
    const double factor = double{rope.attention_factor};
    if (cos[pair] != static_cast<float>(factor * exact.cos)) return false;
    if (sin[pair] != static_cast<float>(factor * exact.sin)) return false;
    if (turned_cos[pair] != static_cast<float>(exact.cos) || turned_sin[pair] != static_cast<float>(exact.sin)) {
      return false;
    }
  }
  return true;
}

TEST_CASE("angles are the exact cosines and sines, rounded to floats once") {
  const RopeSpec plain = {.base = 500000.0};
  const RopeSpec stretched = {.base = 10000.0, .attention_factor = 1.1902381f};
  for (int position = 0; position < 4000; ++position) {
    CHECK_MESSAGE(IsExact(plain, position), position);
    CHECK_MESSAGE(IsExact(stretched, -37.0 * position), position);
  }
  // Beyond the reach of the quick way, and whole quarter turns, which it leaves alone.
  for (const double position : {4194304.0, 4194305.0, 1073741823.0, 355.0, 103993.0 * 2}) {
    CHECK_MESSAGE(IsExact(plain, position), position);
  }
  RopeSpec fast = plain;
  fast.scaling = RopeScaling::kLongRope;
  fast.factors.assign(kRotaryDim / 2, 1e-30f);
  CHECK(IsExact(fast, 3.0));
}

}  // namespace rotation_test
}  // namespace skald::testing
