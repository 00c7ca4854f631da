// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/policy.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_POLICY_H_
#define SKALD_ENGINE_PLAN_DETAIL_POLICY_H_

#include "skald/engine/plan/policy.h"

#include <cmath>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE double FairLevel(const Standing& standing, double turn_tokens) {
  const double level = std::floor(standing.served / turn_tokens) + static_cast<double>(standing.before);
  return standing.held ? level - 1.0 - *standing.held / turn_tokens : level;
}

SKALD_INLINE Urgency UrgencyOf(const Standing& standing, const PolicyOptions& options) {
  switch (options.policy) {
    case Policy::kFirstCome:
      break;
    case Policy::kPriority:
      return {0.0, standing.arrival - options.seconds_per_priority * standing.priority, /*displaces=*/true};
    case Policy::kFairShare:
      return {FairLevel(standing, options.turn_tokens), standing.arrival, /*displaces=*/true};
    case Policy::kShortestFirst:
      return {0.0, standing.arrival + options.seconds_per_token * static_cast<double>(standing.tokens)};
  }
  return {0.0, standing.arrival};
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_POLICY_H_
