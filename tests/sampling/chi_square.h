// SPDX-License-Identifier: Apache-2.0
//
// Pearson's chi-square test, for draws counted per outcome. Tests use fixed seeds, so a result
// never changes by chance; the significance level only says how surprising a correct sampler's
// counts may be.

#ifndef SKALD_TESTS_SAMPLING_CHI_SQUARE_H_
#define SKALD_TESTS_SAMPLING_CHI_SQUARE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "doctest/doctest.h"

namespace skald {

// Returns whether `counts` may be draws from `probabilities` [outcomes], which sum to 1. An outcome
// of probability 0 must not occur at all. Others need an expected count of at least 5, as the test
// assumes.
inline bool FitsDistribution(const std::vector<uint64_t>& counts, const std::vector<double>& probabilities) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  double statistic = 0.0;
  int outcomes = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double count = static_cast<double>(counts[i]);
    const double expected = probabilities[i] * total;
    if (probabilities[i] == 0.0) {
      if (count != 0.0) return false;
      continue;
    }
    REQUIRE(expected >= 5.0);
    statistic += (count - expected) * (count - expected) / expected;
    ++outcomes;
  }
  if (outcomes < 2) return true;
  // The quantile that a correct sampler exceeds once in 10^5 cases, by the approximation of Wilson
  // and Hilferty (1931); 4.265 is that quantile of the normal distribution.
  const double degrees = outcomes - 1;
  const double root = 1.0 - 2.0 / (9.0 * degrees) + 4.265 * std::sqrt(2.0 / (9.0 * degrees));
  const double quantile = degrees * root * root * root;
  CAPTURE(statistic);
  CAPTURE(quantile);
  return statistic <= quantile;
}

}  // namespace skald

#endif  // SKALD_TESTS_SAMPLING_CHI_SQUARE_H_
