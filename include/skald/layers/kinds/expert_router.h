// SPDX-License-Identifier: Apache-2.0
//
// The router of a mixture of experts: from a row's scores of all experts, which few compute it and with what weights.
// As in Mixtral (arXiv:2401.04088), weights are a softmax; as in DeepSeek-V3 (arXiv:2412.19437, section 2.1.2), they
// are sigmoids, and a bias and groups of experts have a say in the choice alone.

#ifndef SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_
#define SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "skald/base/numbers/portable_exp.h"

namespace skald {

// Members mean what those of MixtureOfExperts mean.
struct ExpertRouter {
  size_t experts, chosen;
  bool normalized, sigmoid;
  size_t groups, chosen_groups;
  float sum_epsilon, weight_scale;

  // Returns 1 / (1 + e^-x), rounded once.
  static float Sigmoid(float x) {
    const double power = PortableExp(-std::abs(double{x}));
    return static_cast<float>((x < 0.0f ? power : 1.0) / (1.0 + power));
  }

  // Turns the scores [experts] of one row into weights, zeros for experts that are not chosen. `bias` [experts], or
  // empty, is added where experts are chosen. A score that is no number makes the row's output none. `ranks` is memory
  // for [2 * experts].
  void Weigh(std::span<const float> bias, float* scores, float* ranks) const {
    for (size_t i = 0; i < experts; ++i) {
      if (sigmoid) scores[i] = Sigmoid(scores[i]);
      ranks[i] = bias.empty() ? scores[i] : scores[i] + bias[i];
    }
    const auto is_none = [&](float rank) { return sigmoid ? !std::isfinite(rank) : std::isnan(rank); };
    if (std::any_of(ranks, ranks + experts, is_none)) {
      std::fill_n(scores, chosen, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    if (chosen_groups < groups) LeaveBestGroups(ranks, ranks + experts);
    const size_t last = LastOfBest(ranks, experts, chosen);
    const float lowest = ranks[last];
    const auto is_chosen = [&](size_t i) { return ranks[i] > lowest || (ranks[i] == lowest && i <= last); };
    const double highest = *std::max_element(scores, scores + experts);
    const auto share = [&](size_t i) { return sigmoid ? double{scores[i]} : PortableExp(scores[i] - highest); };
    double sum = normalized || !sigmoid ? 0.0 : 1.0;
    for (size_t i = 0; i < experts; ++i) {
      if (normalized ? is_chosen(i) : !sigmoid) sum += share(i);
    }
    if (normalized) sum += double{sum_epsilon};
    for (size_t i = 0; i < experts; ++i) {
      scores[i] = is_chosen(i) ? static_cast<float>(share(i) / sum * double{weight_scale}) : 0.0f;
    }
  }

 private:
  static bool IsBetter(const float* ranks, size_t a, size_t b) {
    return ranks[a] > ranks[b] || (ranks[a] == ranks[b] && a < b);
  }

  // Returns the one of `count` ranks that `wanted` are as good as, itself among them. Of equal ones the first is best.
  static size_t LastOfBest(const float* ranks, size_t count, size_t wanted) {
    size_t last = count;
    for (size_t i = 0; i < wanted; ++i) {
      size_t best = count;
      for (size_t j = 0; j < count; ++j) {
        const bool is_left = last == count || IsBetter(ranks, last, j);
        if (is_left && (best == count || IsBetter(ranks, j, best))) best = j;
      }
      last = best;
    }
    return last;
  }

  // Ranks experts of all but the best groups below every other. The rank of a group is the sum of its two highest.
  void LeaveBestGroups(float* ranks, float* of_groups) const {
    const size_t size = experts / groups;
    for (size_t group = 0; group < groups; ++group) {
      const float* const members = ranks + group * size;
      of_groups[group] = members[LastOfBest(members, size, 1)];
      if (size > 1) of_groups[group] += members[LastOfBest(members, size, 2)];
    }
    const size_t last = LastOfBest(of_groups, groups, chosen_groups);
    for (size_t group = 0; group < groups; ++group) {
      if (!IsBetter(of_groups, last, group)) continue;
      std::fill_n(ranks + group * size, size, -std::numeric_limits<float>::infinity());
    }
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_
