// SPDX-License-Identifier: Apache-2.0
//
// Policies: which request goes first. A policy turns the facts of a request into its urgency, two numbers that are
// compared; the scheduler knows no more of it. Waiting makes a request more urgent than later ones, so none starves:
// the advantage that a policy gives is worth a bounded time. Pure.

#ifndef SKALD_ENGINE_PLAN_POLICY_H_
#define SKALD_ENGINE_PLAN_POLICY_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace skald {

/// Lower goes first.
struct Urgency {
  double level = 0.0;  ///< compared first
  double since = 0.0;  ///< seconds
  /// Whether it takes the places of those that run and are less urgent, rather than the first that is free. Displacing
  /// costs computing again: a policy asks for it where waiting would be worse (benchmarks/README.md).
  bool displaces = false;

  friend auto operator<=>(const Urgency&, const Urgency&) = default;
};

enum class Policy : uint8_t {
  kFirstCome,
  kPriority,  ///< a level of Request::priority is worth PolicyOptions::seconds_per_priority of waiting
  // The tenant that was served least, in turns of PolicyOptions::turn_tokens. Its sequences form a queue: each as if
  // those before it had been served a turn. So tenants that want more than they get have as many places as each other,
  // however many sequences they send, and those of a tenant that was served more give way.
  kFairShare,
  kShortestFirst,  ///< a token that is to be computed costs PolicyOptions::seconds_per_token of waiting
};

/// The facts that urgency is computed from.
struct Standing {
  double arrival = 0.0;  ///< seconds
  int32_t priority = 0;  ///< Request::priority
  uint64_t tokens = 0;   ///< of prompt and answer, at most
  double served = 0.0;   ///< tokens that its tenant was given
  uint64_t before = 0;   ///< sequences of its tenant that come before it
  /// Tokens in its cache, if it runs: what giving way would throw away.
  std::optional<uint32_t> held = {};
  std::optional<double> deadline = {};  ///< Request::deadline, in the same seconds as `arrival`
  std::string_view tenant = {};         ///< Request::tenant, while the policy is asked
};

/// A policy of the caller's own: any function that turns a Standing into an Urgency. It must keep two promises:
///   - It depends on the Standing only. It is called several times for each request in each step.
///   - A request that has waited long enough goes before all that come later; else it may wait forever.
/// A request that begins to run should not become less urgent by it: two such requests would take each other's places,
/// and would compute again each time. A number that is not one counts as the least urgent; a policy that throws leaves
/// that request to the order of arrival. It decides when tokens are computed, never which.
using OwnPolicy = std::function<Urgency(const Standing&)>;

/// How urgency is computed from the facts of a request.
struct PolicyOptions {
  Policy policy = Policy::kFirstCome;  ///< used unless `own` is set
  double seconds_per_priority = 10.0;  ///< of kPriority: seconds of waiting that a level is worth
  double turn_tokens = 2048.0;         ///< of kFairShare: tokens of a turn
  double seconds_per_token = 0.01;     ///< of kShortestFirst: seconds of waiting that a token costs
  /// Gives the urgency in place of `policy`. With Policy::kFairShare steps are still divided among tenants
  /// (fair_steps.h), and Standing::before is counted.
  OwnPolicy own = {};
};

/// A sequence's own turn. A running one is ahead by a turn, and by the turns that its cache took: it gives way only if
/// its tenant is ahead by more than that costs, so that places do not go back and forth, and the recomputed work is
/// never more than another tenant's lag.
double FairLevel(const Standing& standing, double turn_tokens);

Urgency UrgencyOf(const Standing& standing, const PolicyOptions& options);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/policy.h"
#endif

#endif  // SKALD_ENGINE_PLAN_POLICY_H_
