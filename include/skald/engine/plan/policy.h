// SPDX-License-Identifier: Apache-2.0
//
// Policies: who goes first. A policy turns what is known of a request into its urgency, two numbers that are compared;
// the scheduler knows no more of it. Waiting makes everyone more urgent than those who come later, so none starves:
// what a policy gives as an advantage is worth a bounded time. Pure.

#ifndef SKALD_ENGINE_PLAN_POLICY_H_
#define SKALD_ENGINE_PLAN_POLICY_H_

#include <cmath>
#include <compare>
#include <cstdint>

namespace skald {

// Lower goes first.
struct Urgency {
  double level = 0.0;
  double since = 0.0;  // seconds
  // Whether it takes the places of those that run and are less urgent, rather than the first that is free. Displacing
  // costs computing again, so only a policy whose users ask for it does (benchmarks/README.md).
  bool displaces = false;

  friend auto operator<=>(const Urgency&, const Urgency&) = default;
};

enum class Policy : uint8_t {
  kFirstCome,
  kPriority,       // a level of Request::priority is worth PolicyOptions::seconds_per_priority of waiting
  kFairShare,      // the tenant that was served least, in turns of PolicyOptions::turn_tokens
  kShortestFirst,  // a token that is to be computed costs PolicyOptions::seconds_per_token of waiting
};

struct PolicyOptions {
  Policy policy = Policy::kFirstCome;
  double seconds_per_priority = 10.0;
  double turn_tokens = 2048.0;
  double seconds_per_token = 0.01;
};

// What urgency is made of.
struct Standing {
  double arrival = 0.0;  // seconds
  int32_t priority = 0;
  uint64_t tokens = 0;  // of prompt and answer, at most
  double served = 0.0;  // tokens that its tenant was given
};

inline Urgency UrgencyOf(const Standing& standing, const PolicyOptions& options) {
  switch (options.policy) {
    case Policy::kFirstCome:
      break;
    case Policy::kPriority:
      return {0.0, standing.arrival - options.seconds_per_priority * standing.priority, /*displaces=*/true};
    case Policy::kFairShare:
      return {std::floor(standing.served / options.turn_tokens), standing.arrival};
    case Policy::kShortestFirst:
      return {0.0, standing.arrival + options.seconds_per_token * static_cast<double>(standing.tokens)};
  }
  return {0.0, standing.arrival};
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_POLICY_H_
