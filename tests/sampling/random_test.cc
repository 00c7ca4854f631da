// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/random.h"

#include <cstdint>
#include <set>
#include <vector>

#include "doctest/doctest.h"
#include "tests/sampling/chi_square.h"

namespace skald {
namespace random_test {

// The known answers that the authors publish with their implementation (Random123, kat_vectors).
static_assert(Philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST_CASE("Philox gives the published answers at run time too") {
  // Through volatile, so that the compiler cannot fold the whole test.
  volatile uint32_t zero = 0;
  const uint32_t z = zero;
  CHECK(Philox4x32({z, z, z, z}, {z, z}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("seed, stream and position each enter with all their bits") {
  std::set<PhiloxCounter> seen = {RandomBits({0, 0}, 0)};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    seen.insert(RandomBits({one, 0}, 0));
    seen.insert(RandomBits({0, one}, 0));
    seen.insert(RandomBits({0, 0}, one));
  }
  CHECK(seen.size() == 1 + 3 * 64);
}

TEST_CASE("a draw does not depend on the draws before it") {
  const RandomStream random{.seed = 7, .stream = 3};
  std::vector<double> forwards, backwards;
  for (uint64_t i = 0; i < 100; ++i) forwards.push_back(UniformAt(random, i));
  for (uint64_t i = 100; i-- > 0;) backwards.insert(backwards.begin(), UniformAt(random, i));
  CHECK(forwards == backwards);
}

TEST_CASE("the same seed gives the same draws on every compiler") {
  CHECK(UniformAt({0, 0}, 0) == 0x1.c2d38b1acc4fdp-1);
  // Random bits of counter {5, 0, 3, 0} under key {42, 0}, top 53 of the second and first word.
  const PhiloxCounter bits = Philox4x32({5, 0, 3, 0}, {42, 0});
  const uint64_t word = uint64_t{bits[1]} << 32 | bits[0];
  CHECK(UniformAt({.seed = 42, .stream = 3}, 5) == static_cast<double>(word >> 11) / 9007199254740992.0);
}

TEST_CASE("draws are uniform along positions, along streams and along seeds") {
  constexpr size_t kBins = 64;
  constexpr uint64_t kDraws = 64000;
  using Draw = double (*)(uint64_t);
  const Draw draws[] = {
      [](uint64_t i) {
        return UniformAt({1, 0}, i);
      },
      [](uint64_t i) {
        return UniformAt({1, i}, 0);
      },
      [](uint64_t i) {
        return UniformAt({i, 0}, 0);
      },
  };
  const std::vector<double> uniform(kBins, 1.0 / kBins);
  for (const Draw draw : draws) {
    std::vector<uint64_t> counts(kBins, 0);
    for (uint64_t i = 0; i < kDraws; ++i) {
      const double u = draw(i);
      REQUIRE(u >= 0.0);
      REQUIRE(u < 1.0);
      ++counts[static_cast<size_t>(u * kBins)];
    }
    CHECK(FitsDistribution(counts, uniform));
  }
}

TEST_CASE("neighbouring positions, streams and seeds are independent") {
  constexpr size_t kBins = 8;
  constexpr uint64_t kDraws = 64000;
  const std::vector<double> uniform(kBins * kBins, 1.0 / (kBins * kBins));
  const auto bin = [](double u) { return static_cast<size_t>(u * kBins); };
  std::vector<uint64_t> positions(kBins * kBins, 0), streams = positions, seeds = positions;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const size_t here = bin(UniformAt({9, 4}, i)) * kBins;
    ++positions[here + bin(UniformAt({9, 4}, i + 1))];
    ++streams[here + bin(UniformAt({9, 5}, i))];
    ++seeds[here + bin(UniformAt({10, 4}, i))];
  }
  CHECK(FitsDistribution(positions, uniform));
  CHECK(FitsDistribution(streams, uniform));
  CHECK(FitsDistribution(seeds, uniform));
}

}  // namespace random_test
}  // namespace skald
