// SPDX-License-Identifier: Apache-2.0
//
// The router of a mixture of experts: from a row's scores of all experts, which few compute it and with what weights.
// As in Mixtral (arXiv:2401.04088), weights are a softmax; as in DeepSeek-V3 (arXiv:2412.19437, section 2.1.2), they
// are sigmoids, and a bias and groups of experts have a say in the choice alone; as in Phi-3.5-MoE, SparseMixer weighs
// each expert against those that nearly were chosen instead (arXiv:2409.12136).

#ifndef SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_
#define SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_

#include <cstddef>
#include <span>

namespace skald {

/// Members mean what those of MixtureOfExperts mean.
struct ExpertRouter {
  /// Experts of the layer; how many compute a row.
  size_t experts, chosen;
  /// See MixtureOfExperts.
  bool normalized, sigmoid;
  /// See MixtureOfExperts.
  size_t groups, chosen_groups;
  /// See MixtureOfExperts.
  float sum_epsilon, weight_scale;
  /// See MixtureOfExperts::mixer_reach.
  float mixer_reach = 0.0f;

  /// Returns 1 / (1 + e^-x), rounded once.
  static float Sigmoid(float x);

  /// Turns the scores [experts] of one row into weights, zeros for experts that are not chosen. `bias` [experts], or
  /// empty, is added where experts are chosen. A score that is no number makes the row's output none. `ranks` is memory
  /// for [2 * experts].
  void Weigh(std::span<const float> bias, float* scores, float* ranks) const;

 private:
  /// Turns scores into weights by SparseMixer.
  void Mix(float* scores, float* ranks) const;

  static bool IsBetter(const float* ranks, size_t a, size_t b);

  /// Returns the one of `count` ranks that `wanted` are as good as, itself among them. Of equal ones the first is best.
  static size_t LastOfBest(const float* ranks, size_t count, size_t wanted);

  /// Ranks experts of all but the best groups below every other. The rank of a group is the sum of its two highest.
  void LeaveBestGroups(float* ranks, float* of_groups) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/expert_router.h"
#endif

#endif  // SKALD_LAYERS_KINDS_EXPERT_ROUTER_H_
