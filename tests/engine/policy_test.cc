// SPDX-License-Identifier: Apache-2.0
//
// Policies, and the tenants that fair shares go by.

#include "skald/engine/plan/policy.h"

#include <string>

#include "doctest/doctest.h"
#include "skald/engine/plan/tenants.h"

namespace skald::testing {
namespace policy_test {

bool IsBefore(Policy policy, const Standing& a, const Standing& b) {
  return UrgencyOf(a, {.policy = policy}) < UrgencyOf(b, {.policy = policy});
}

TEST_CASE("Policy: first come, whatever else is known") {
  CHECK(IsBefore(Policy::kFirstCome, {1.0, 0, 1000, 1e6}, {2.0, 9, 1, 0.0}));
}

TEST_CASE("Policy: a priority is worth a bounded time, and displaces") {
  CHECK(IsBefore(Policy::kPriority, {9.0, 1}, {0.0, 0}));
  CHECK(!IsBefore(Policy::kPriority, {11.0, 1}, {0.0, 0}));
  CHECK(IsBefore(Policy::kPriority, {0.0, 0}, {0.0, -1}));
  for (const Policy policy : {Policy::kFirstCome, Policy::kPriority, Policy::kFairShare, Policy::kShortestFirst}) {
    const bool displaces = policy == Policy::kPriority || policy == Policy::kFairShare;
    CHECK(UrgencyOf({}, {.policy = policy}).displaces == displaces);
  }
}

TEST_CASE("Policy: the tenant that was served less goes first, turn by turn") {
  CHECK(IsBefore(Policy::kFairShare, {5.0, 0, 1, 2000.0}, {1.0, 0, 1, 2100.0}));
  CHECK(IsBefore(Policy::kFairShare, {1.0, 0, 1, 2040.0}, {5.0, 0, 1, 0.0}));  // in the same turn
}

TEST_CASE("Policy: a tenant's sequences stand in line, so that tenants have places in turn") {
  // The third of one tenant, beside the first of another that was served two turns more.
  CHECK(IsBefore(Policy::kFairShare, {0.0, 0, 1, 0.0, 2}, {1.0, 0, 1, 4096.0, 0}));
  CHECK(!IsBefore(Policy::kFairShare, {0.0, 0, 1, 0.0, 3}, {1.0, 0, 1, 4096.0, 0}));
}

TEST_CASE("Policy: who runs gives way only where its tenant is ahead by more than that costs") {
  const Standing waiting = {9.0, 0, 1, 0.0, 0};
  CHECK(!IsBefore(Policy::kFairShare, waiting, {0.0, 0, 1, 2048.0, 0, 0}));
  CHECK(IsBefore(Policy::kFairShare, waiting, {0.0, 0, 1, 2 * 2048.0, 0, 0}));
  CHECK(!IsBefore(Policy::kFairShare, waiting, {0.0, 0, 1, 2 * 2048.0, 0, 4096}));
  CHECK(IsBefore(Policy::kFairShare, waiting, {0.0, 0, 1, 4 * 2048.0, 0, 4096}));
}

TEST_CASE("Policy: short ones go first, until a long one has waited for what it is longer") {
  CHECK(IsBefore(Policy::kShortestFirst, {5.0, 0, 100}, {0.0, 0, 1000}));
  CHECK(!IsBefore(Policy::kShortestFirst, {9.5, 0, 100}, {0.0, 0, 1000}));
}

TEST_CASE("Tenants: who comes back begins where those are who are there") {
  Tenants tenants;
  (void)tenants.Enter("a");
  tenants.Serve("a", 500.0);
  (void)tenants.Enter("b");
  CHECK(tenants.served("b") == 500.0);
  tenants.Serve("b", 100.0);
  (void)tenants.Enter("c");
  CHECK(tenants.served("c") == 500.0);
  // Service that it got before counts while others wait.
  tenants.Leave("b", 1.0);
  (void)tenants.Enter("b");
  CHECK(tenants.served("b") == 600.0);
  // A second request changes nothing.
  (void)tenants.Enter("b");
  CHECK(tenants.served("b") == 600.0);
}

TEST_CASE("Tenants: those who are gone are forgotten when that changes nothing") {
  Tenants tenants;
  (void)tenants.Enter("always");
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    (void)tenants.Enter(name);
    tenants.Serve(name, 10.0);
    tenants.Leave(name, i);
    CHECK(tenants.served(name) == tenants.served("always") + 10.0);
    tenants.Serve("always", 10.0);
    (void)tenants.Enter("other");
    tenants.Leave("other", i);
    (void)tenants.LeftLately(i + Tenants::kLately);
    CHECK(tenants.served(name) == 0.0);
  }
  tenants.Leave("always", 100.0);
  CHECK(tenants.LeftLately(100.0 + Tenants::kLately) == 0);
  CHECK(tenants.served("always") == 0.0);
  tenants.Leave("never there", 200.0);
}

TEST_CASE("Tenants: who left lately is known for a while, once") {
  Tenants tenants;
  (void)tenants.Enter("a", 2);
  (void)tenants.Enter("b");
  CHECK(tenants.number("a") != tenants.number("b"));
  tenants.Leave("a", 1.0);
  CHECK(tenants.LeftLately(1.0) == 0);  // another of its sequences is there
  tenants.Leave("a", 2.0);
  tenants.Leave("b", 2.5);
  CHECK(tenants.LeftLately(2.5) == 2);
  (void)tenants.Enter("b");
  CHECK(tenants.LeftLately(2.5) == 1);
  CHECK(tenants.LeftLately(2.0 + Tenants::kLately) == 0);
}

}  // namespace policy_test
}  // namespace skald::testing
