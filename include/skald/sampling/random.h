// SPDX-License-Identifier: Apache-2.0
//
// Randomness without hidden state: the random bits of a draw are a function of (seed, stream,
// position), so a draw depends neither on earlier draws nor on the order of a batch, and saving a
// generator means saving the seed and the stream. Pure functions; safe for concurrent calls.
// Source: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3", SC'11.

#ifndef SKALD_SAMPLING_RANDOM_H_
#define SKALD_SAMPLING_RANDOM_H_

#include <array>
#include <cstdint>

namespace skald {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Returns the 128 random bits that belong to `counter` under `key`.
constexpr PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  // Multipliers and key increments (golden ratio, sqrt(3) - 1) as published; ten rounds are the
  // authors' recommendation, three more than the fewest that pass the BigCrush battery.
  constexpr uint64_t kMultiplier0 = 0xD2511F53u;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kIncrement0 = 0x9E3779B9u;
  constexpr uint32_t kIncrement1 = 0xBB67AE85u;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kIncrement0;
    key[1] += kIncrement1;
  }
  return counter;
}

/// One sequence of random numbers. Sequences of different seeds or different streams are
/// independent; use one stream per continuation that is sampled from the same prompt.
struct RandomStream {
  uint64_t seed = 0;    ///< any number
  uint64_t stream = 0;  ///< any number, one for each continuation

  friend constexpr bool operator==(const RandomStream&, const RandomStream&) = default;
};

/// Returns the 128 random bits of `random` at `position`.
constexpr PhiloxCounter RandomBits(const RandomStream& random, uint64_t position) {
  return Philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                     static_cast<uint32_t>(random.stream), static_cast<uint32_t>(random.stream >> 32)},
                    {static_cast<uint32_t>(random.seed), static_cast<uint32_t>(random.seed >> 32)});
}

/// Returns the uniform draw of `random` at `position`: a multiple of 2^-53 in [0, 1).
constexpr double UniformAt(const RandomStream& random, uint64_t position) {
  const PhiloxCounter bits = RandomBits(random, position);
  const uint64_t word = (uint64_t{bits[1]} << 32) | bits[0];
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

}  // namespace skald

#endif  // SKALD_SAMPLING_RANDOM_H_
