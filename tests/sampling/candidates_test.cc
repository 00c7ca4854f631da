// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "doctest/doctest.h"
#include "tests/sampling/reference_sampler.h"

namespace skald {
namespace candidates_test {

std::vector<int32_t> Ids(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.id);
  return ids;
}

// The ids of the highest `count` logits by a full sort, ties by id.
std::vector<int32_t> HighestIds(const std::vector<float>& logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::erase_if(ids, [&](int32_t id) { return logits[static_cast<size_t>(id)] == -INFINITY; });
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const float logit_a = logits[static_cast<size_t>(a)], logit_b = logits[static_cast<size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  });
  ids.resize(std::min(count, ids.size()));
  return ids;
}

std::vector<Candidate> Weighted(const std::vector<float>& logits, float temperature = 1.0f) {
  std::vector<Candidate> candidates;
  CollectAll(logits, candidates);
  ComputeWeights(candidates, temperature);
  return candidates;
}

TEST_CASE("top-k keeps what a full sort keeps, in the same order") {
  for (const size_t size : {1, 2, 63, 64, 65, 200, 1000}) {
    for (const size_t top_k : {1, 2, 3, 40, 64, 199, 200, 1000, 5000}) {
      const std::vector<float> logits = RandomLogits(size, size);
      std::vector<Candidate> candidates;
      CollectTopK(logits, top_k, candidates);
      CHECK(Ids(candidates) == HighestIds(logits, top_k));
    }
  }
}

TEST_CASE("top-k breaks ties by the lower id, wherever the ties stand") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> logits = RandomLogits(1000, seed);
    for (float& logit : logits) logit = std::round(logit);  // a dozen different values
    for (const size_t top_k : {1, 5, 100, 999}) {
      std::vector<Candidate> candidates;
      CollectTopK(logits, top_k, candidates);
      CHECK(Ids(candidates) == HighestIds(logits, top_k));
    }
  }
}

TEST_CASE("top-k of rising, falling and constant logits") {
  std::vector<float> rising(1000), falling(1000), constant(1000, 1.0f);
  for (size_t i = 0; i < 1000; ++i) rising[i] = static_cast<float>(i);
  std::reverse_copy(rising.begin(), rising.end(), falling.begin());
  for (const std::vector<float>& logits : {rising, falling, constant}) {
    std::vector<Candidate> candidates;
    CollectTopK(logits, 10, candidates);
    CHECK(Ids(candidates) == HighestIds(logits, 10));
  }
}

TEST_CASE("banned tokens are never candidates") {
  std::vector<float> logits = RandomLogits(100, 3);
  for (size_t i = 0; i < 100; i += 3) logits[i] = -INFINITY;
  std::vector<Candidate> candidates;
  CollectAll(logits, candidates);
  CHECK(candidates.size() == 66);
  CollectTopK(logits, 90, candidates);
  CHECK(Ids(candidates) == HighestIds(logits, 90));
  CHECK(candidates.size() == 66);
}

TEST_CASE("weights are probabilities relative to the most likely candidate") {
  const std::vector<float> logits = RandomLogits(500, 11);
  for (const float temperature : {0.1f, 1.0f, 3.0f}) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    for (const Candidate& candidate : Weighted(logits, temperature)) {
      const double exponent = (candidate.logit - highest) / temperature;
      // Both exponentials are within 4 units of 2^-53.
      CHECK(std::abs(candidate.weight - std::exp(exponent)) <= 8 * 0x1.0p-53 * candidate.weight);
    }
  }
}

TEST_CASE("top-p keeps the same tokens as the reference") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<float> logits = RandomLogits(300, seed, 0.1 * static_cast<double>(seed));
    for (const float top_p : {1e-6f, 0.1f, 0.5f, 0.9f, 0.99f, 0.9999f}) {
      std::vector<Candidate> candidates = Weighted(logits);
      KeepTopP(candidates, top_p);
      SamplerSettings settings;
      settings.top_p = top_p;
      const std::vector<double> expected = ReferenceDistribution(logits, settings);
      const size_t kept = static_cast<size_t>(
          std::count_if(expected.begin(), expected.end(), [](double probability) { return probability > 0.0; }));
      CHECK(Ids(candidates) == HighestIds(logits, kept));
    }
  }
}

TEST_CASE("top-p of 1 and min-p of 0 keep every candidate in its place") {
  std::vector<Candidate> candidates = Weighted(RandomLogits(300, 5));
  const std::vector<int32_t> before = Ids(candidates);
  KeepTopP(candidates, 1.0f);
  KeepMinP(candidates, 0.0f);
  CHECK(Ids(candidates) == before);
}

TEST_CASE("top-p stops at exact shares and always keeps one candidate") {
  // Four equal probabilities of a quarter each: all sums are exact.
  std::vector<Candidate> candidates = Weighted({1.0f, 1.0f, 1.0f, 1.0f});
  KeepTopP(candidates, 0.5f);
  CHECK(Ids(candidates) == std::vector<int32_t>{0, 1});
  candidates = Weighted({1.0f, 1.0f, 1.0f, 1.0f});
  KeepTopP(candidates, 0.50001f);
  CHECK(Ids(candidates) == std::vector<int32_t>{0, 1, 2});
  candidates = Weighted({1.0f, 1.0f, 1.0f, 1.0f});
  KeepTopP(candidates, std::numeric_limits<float>::denorm_min());
  CHECK(Ids(candidates) == std::vector<int32_t>{0});
}

TEST_CASE("min-p keeps candidates by their ratio to the most likely one") {
  std::vector<Candidate> candidates = {{0.05, 0, 0}, {1.0, 0, 1}, {0.1, 0, 2}, {0.099, 0, 3}};
  KeepMinP(candidates, 0.1f);
  CHECK(Ids(candidates) == std::vector<int32_t>{1});  // 0.1f is a little more than 0.1
  candidates = {{0.05, 0, 0}, {1.0, 0, 1}, {0.1, 0, 2}};
  KeepMinP(candidates, 0.05f);
  CHECK(Ids(candidates) == std::vector<int32_t>{1, 2});
  KeepMinP(candidates, 1.0f);
  CHECK(Ids(candidates) == std::vector<int32_t>{1});
}

TEST_CASE("a draw falls into the share of its candidate") {
  const std::vector<Candidate> candidates = {{0.0, 0, 9}, {1.0, 0, 5}, {0.0, 0, 8},
                                             {0.5, 0, 2}, {0.5, 0, 7}, {0.0, 0, 6}};
  CHECK(Pick(candidates, 0.0) == 5);
  CHECK(Pick(candidates, std::nextafter(0.5, 0.0)) == 5);
  CHECK(Pick(candidates, 0.5) == 2);
  CHECK(Pick(candidates, 0.75) == 7);
  CHECK(Pick(candidates, 1.0 - 0x1.0p-53) == 7);
}

}  // namespace candidates_test
}  // namespace skald
