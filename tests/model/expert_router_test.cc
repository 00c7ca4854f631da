// SPDX-License-Identifier: Apache-2.0
//
// Which experts a router chooses and how it weighs them, against the same by sorting; and choices that are ties.

#include "skald/layers/kinds/expert_router.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {
namespace expert_router_test {

constexpr ExpertRouter kPlain = {.experts = 12,
                                 .chosen = 3,
                                 .normalized = true,
                                 .sigmoid = true,
                                 .groups = 1,
                                 .chosen_groups = 1,
                                 .sum_epsilon = 0.0f,
                                 .weight_scale = 1.0f};

std::vector<float> Weights(const ExpertRouter& router, std::vector<float> scores, const std::vector<float>& bias = {}) {
  std::vector<float> ranks(2 * router.experts, kNaN);
  router.Weigh(bias, scores.data(), ranks.data());
  return scores;
}

// Returns the numbers of the `count` highest, of equal ones the lower.
std::vector<size_t> Highest(const std::vector<double>& ranks, size_t count) {
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return ranks[a] > ranks[b]; });
  order.resize(count);
  return order;
}

std::vector<double> Expected(const ExpertRouter& router, const std::vector<float>& scores,
                             const std::vector<float>& bias) {
  const size_t size = router.experts / router.groups;
  std::vector<double> shares, ranks, of_groups;
  double all = 0.0;
  for (const float score : scores) all += std::exp(double{score});
  for (const float score : scores) {
    shares.push_back(router.sigmoid ? 1.0 / (1.0 + std::exp(-double{score})) : std::exp(double{score}) / all);
  }
  for (size_t i = 0; i < router.experts; ++i) ranks.push_back(shares[i] + (bias.empty() ? 0.0 : bias[i]));
  for (size_t group = 0; group < router.groups; ++group) {
    std::vector<double> members(ranks.begin() + group * size, ranks.begin() + (group + 1) * size);
    std::ranges::sort(members, std::greater<>());
    of_groups.push_back(members[0] + (size > 1 ? members[1] : 0.0));
  }
  const std::vector<size_t> groups = Highest(of_groups, router.chosen_groups);
  for (size_t i = 0; i < router.experts; ++i) {
    if (std::ranges::find(groups, i / size) == groups.end()) ranks[i] = -1e30;
  }
  std::vector<double> weights(router.experts);
  double sum = router.sum_epsilon;
  for (const size_t i : Highest(ranks, router.chosen)) sum += weights[i] = shares[i];
  for (double& weight : weights) weight *= router.weight_scale / (router.normalized ? sum : 1.0);
  return weights;
}

void CheckWeights(const ExpertRouter& router, const std::vector<float>& scores, const std::vector<float>& bias) {
  const std::vector<float> weights = Weights(router, scores, bias);
  const std::vector<double> expected = Expected(router, scores, bias);
  for (size_t i = 0; i < router.experts; ++i) {
    CHECK((weights[i] == 0.0f) == (expected[i] == 0.0));
    CHECK(std::abs(weights[i] - expected[i]) <= 1e-6 * router.weight_scale);
  }
}

TEST_CASE("experts are chosen and weighed as by sorting") {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> scores = RandomFloats(seed, 12, 4.0f), bias = RandomFloats(seed + 100, 12, 0.6f);
    for (const bool normalized : {true, false}) {
      ExpertRouter router = kPlain;
      router.normalized = normalized, router.weight_scale = 2.5f;
      CheckWeights(router, scores, {});
      CheckWeights(router, scores, bias);
      router.sum_epsilon = normalized ? 0.25f : 0.0f;
      for (const auto& [groups, chosen] : {std::pair(4, 2), {4, 1}, {6, 3}, {12, 5}, {3, 2}, {1, 1}}) {
        router.groups = groups, router.chosen_groups = chosen;
        CheckWeights(router, scores, bias);
      }
      ExpertRouter softmax = kPlain;
      softmax.sigmoid = false, softmax.normalized = normalized;
      CheckWeights(softmax, scores, {});
      CheckWeights(softmax, scores, bias);
    }
  }
}

std::vector<size_t> Chosen(const std::vector<float>& weights) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] != 0.0f) chosen.push_back(i);
  }
  return chosen;
}

TEST_CASE("of equal experts and of equal groups the lower ones are chosen") {
  ExpertRouter router = kPlain;
  for (const bool sigmoid : {false, true}) {
    router.sigmoid = sigmoid;
    CHECK(Chosen(Weights(router, std::vector<float>(12, 0.5f))) == std::vector<size_t>{0, 1, 2});
    CHECK(Chosen(Weights(router, {0, 1, 0, 1, 2, 0, 0, 1, 0, 1, 0, 0})) == std::vector<size_t>{1, 3, 4});
  }
  router.groups = 4, router.chosen_groups = 1;
  CHECK(Chosen(Weights(router, std::vector<float>(12, 0.5f))) == std::vector<size_t>{0, 1, 2});
  // The groups' ranks are those of 0, 2, 2 and 1.
  CHECK(Chosen(Weights(router, {0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0})) == std::vector<size_t>{3, 4, 5});
}

TEST_CASE("a score or a bias that is no number makes the weights none") {
  for (const bool sigmoid : {false, true}) {
    ExpertRouter router = kPlain;
    router.sigmoid = sigmoid;
    std::vector<float> scores = RandomFloats(3, 12);
    scores[7] = kNaN;
    CHECK(std::isnan(Weights(router, scores)[0]));
  }
  ExpertRouter router = kPlain;
  router.groups = 4, router.chosen_groups = 2;
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    std::vector<float> bias(12, 0.0f);
    bias[5] = bad;
    CHECK(std::isnan(Weights(router, RandomFloats(4, 12), bias)[0]));
  }
}

TEST_CASE("sigmoids are right at both ends") {
  CHECK(ExpertRouter::Sigmoid(0.0f) == 0.5f);
  CHECK(ExpertRouter::Sigmoid(kInfinity) == 1.0f);
  CHECK(ExpertRouter::Sigmoid(-kInfinity) == 0.0f);
  CHECK(ExpertRouter::Sigmoid(-80.0f) == doctest::Approx(std::exp(-80.0)).epsilon(1e-6));
  CHECK(std::isnan(ExpertRouter::Sigmoid(kNaN)));
}

}  // namespace expert_router_test
}  // namespace skald::testing
