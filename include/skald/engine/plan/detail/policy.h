// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/policy.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_POLICY_H_
#define SKALD_ENGINE_PLAN_DETAIL_POLICY_H_

#include "skald/engine/plan/policy.h"

#include <cmath>
#include <limits>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

SKALD_INLINE double FairLevel(const Standing& standing, double turn_tokens) {
  const double level = std::floor(standing.served / turn_tokens) + static_cast<double>(standing.before);
  return standing.held ? level - 1.0 - *standing.held / turn_tokens : level;
}

namespace internal {

// Numbers that are none would have no place in an order.
inline Urgency OwnUrgency(const Standing& standing, const OwnPolicy& policy) {
  const auto asked = NoThrow("the caller's own policy", [&]() -> Result<Urgency> { return policy(standing); });
  Urgency urgency = asked.value_or(Urgency{0.0, standing.arrival});
  for (double* const number : {&urgency.level, &urgency.since}) {
    if (std::isnan(*number)) *number = std::numeric_limits<double>::infinity();
  }
  return urgency;
}

}  // namespace internal

SKALD_INLINE Urgency UrgencyOf(const Standing& standing, const PolicyOptions& options) {
  if (options.own) return internal::OwnUrgency(standing, options.own);
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
