// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/expert_router.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_EXPERT_ROUTER_H_
#define SKALD_LAYERS_KINDS_DETAIL_EXPERT_ROUTER_H_

#include "skald/layers/kinds/expert_router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"

namespace skald {

SKALD_INLINE float ExpertRouter::Sigmoid(float x) {
  const double power = PortableExp(-std::abs(double{x}));
  return static_cast<float>((x < 0.0f ? power : 1.0) / (1.0 + power));
}

SKALD_INLINE void ExpertRouter::Weigh(std::span<const float> bias, float* scores, float* ranks) const {
  for (size_t i = 0; sigmoid && i < experts; ++i) scores[i] = Sigmoid(scores[i]);
  const double highest = *std::max_element(scores, scores + experts);
  const auto share = [&](size_t i) { return sigmoid ? double{scores[i]} : PortableExp(scores[i] - highest); };
  double all = 1.0;  // a bias is added to what the softmax of all gives
  if (!sigmoid && !bias.empty()) {
    all = 0.0;
    for (size_t i = 0; i < experts; ++i) all += share(i);
  }
  for (size_t i = 0; i < experts; ++i) {
    ranks[i] = bias.empty() ? scores[i] : static_cast<float>(share(i) / all) + bias[i];
  }
  const auto is_none = [&](float rank) { return sigmoid || !bias.empty() ? !std::isfinite(rank) : std::isnan(rank); };
  if (std::any_of(ranks, ranks + experts, is_none)) {
    std::fill_n(scores, chosen, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  if (chosen_groups < groups) LeaveBestGroups(ranks, ranks + experts);
  if (mixer_reach > 0.0f) return Mix(scores, ranks);
  const size_t last = LastOfBest(ranks, experts, chosen);
  const float lowest = ranks[last];
  const auto is_chosen = [&](size_t i) { return ranks[i] > lowest || (ranks[i] == lowest && i <= last); };
  double sum = normalized || !sigmoid ? 0.0 : 1.0;
  for (size_t i = 0; i < experts; ++i) {
    if (normalized ? is_chosen(i) : !sigmoid) sum += share(i);
  }
  if (normalized) sum += double{sum_epsilon};
  for (size_t i = 0; i < experts; ++i) {
    scores[i] = is_chosen(i) ? static_cast<float>(share(i) / sum * double{weight_scale}) : 0.0f;
  }
}

SKALD_INLINE void ExpertRouter::Mix(float* scores, float* ranks) const {
  float* const weights = ranks + experts;
  std::fill_n(weights, experts, 0.0f);
  for (size_t n = 0; n < chosen; ++n) {
    const size_t best = LastOfBest(ranks, experts, 1);
    const double highest = ranks[best];
    double sum = 0.0;
    for (size_t i = 0; i < experts; ++i) {
      const double distance = highest - ranks[i], size = std::fmax(std::abs(double{ranks[i]}), highest);
      if (distance <= double{mixer_reach} * size) sum += PortableExp(-distance);
    }
    weights[best] = static_cast<float>(double{weight_scale} / sum);
    ranks[best] = -std::numeric_limits<float>::infinity();
  }
  std::copy_n(weights, experts, scores);
}

SKALD_INLINE bool ExpertRouter::IsBetter(const float* ranks, size_t a, size_t b) {
  return ranks[a] > ranks[b] || (ranks[a] == ranks[b] && a < b);
}

SKALD_INLINE size_t ExpertRouter::LastOfBest(const float* ranks, size_t count, size_t wanted) {
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

SKALD_INLINE void ExpertRouter::LeaveBestGroups(float* ranks, float* of_groups) const {
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

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_EXPERT_ROUTER_H_
