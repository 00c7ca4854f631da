// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config/layer.h"

#include <cmath>

#include "doctest/doctest.h"

namespace skald {
namespace layer_test {

constexpr size_t kHeadDim = 64;

TEST_CASE("a pattern of layers repeats and may end in its middle") {
  using enum LayerKind;
  constexpr auto kLayers = RepeatLayers<5>({kSlidingAttention, kSlidingAttention, kFullAttention});
  static_assert(kLayers == std::array{kSlidingAttention, kSlidingAttention, kFullAttention,  //
                                      kSlidingAttention, kSlidingAttention});
}

TEST_CASE("RoPE frequencies fall from one radian per position towards 1 / base") {
  const RopeSpec rope = {.base = 10000.0};
  CHECK(RopeFrequency(rope, 0, kHeadDim) == 1.0);
  CHECK(RopeFrequency(rope, kHeadDim / 4, kHeadDim) == doctest::Approx(0.01).epsilon(1e-12));
  CHECK(RopeFrequency(rope, kHeadDim / 2 - 1, kHeadDim) == doctest::Approx(std::pow(10000.0, -62.0 / 64.0)));
}

TEST_CASE("linear scaling divides every frequency by the factor") {
  const RopeSpec plain = {.base = 1000000.0};
  const RopeSpec scaled = {.base = 1000000.0, .scaling = RopeScaling::kLinear, .factor = 8.0};
  for (size_t pair = 0; pair < kHeadDim / 2; ++pair) {
    CHECK(RopeFrequency(scaled, pair, kHeadDim) == RopeFrequency(plain, pair, kHeadDim) / 8.0);
  }
}

TEST_CASE("Llama 3 scaling keeps high frequencies, divides low ones, and joins them without a step") {
  const RopeSpec plain = {.base = 500000.0};
  const RopeSpec scaled = {.base = 500000.0, .scaling = RopeScaling::kLlama3, .factor = 32.0};
  int kept = 0, divided = 0, between = 0;
  double previous = 2.0;
  for (size_t pair = 0; pair < kHeadDim / 2; ++pair) {
    const double frequency = RopeFrequency(plain, pair, kHeadDim), now = RopeFrequency(scaled, pair, kHeadDim);
    const double turns = 8192.0 * frequency / (2.0 * 3.14159265358979323846);  // in the original context
    CAPTURE(pair);
    CHECK(now < previous);
    previous = now;
    if (turns > 4.0) {
      CHECK(now == frequency);
      ++kept;
    } else if (turns < 1.0) {
      CHECK(now == frequency / 32.0);
      ++divided;
    } else {
      const double share = (turns - 1.0) / 3.0;  // of the kept frequency
      CHECK(now == doctest::Approx(frequency * (share + (1.0 - share) / 32.0)).epsilon(1e-12));
      ++between;
    }
  }
  CHECK(kept > 0);
  CHECK(divided > 0);
  CHECK(between > 0);
}

}  // namespace layer_test
}  // namespace skald
