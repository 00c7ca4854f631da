// SPDX-License-Identifier: Apache-2.0
//
// Tenants: how much each was served, for fair shares. Who comes back after a while begins where those are who are
// there: time in which nothing was asked for is not saved up (virtual token counters: Sheng et al., arXiv:2401.00588).

#ifndef SKALD_ENGINE_PLAN_TENANTS_H_
#define SKALD_ENGINE_PLAN_TENANTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

// Calls take O(log n) for n tenants.
class Tenants {
 public:
  Tenants() = default;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  // So many more sequences of `name` are there. Error: kResourceExhausted; then they are not.
  Result<void> Enter(const std::string& name, uint64_t count = 1) {
    return NoThrow("Tenants", [&]() -> Result<void> {
      const auto found = tenants_.find(name);
      Tenant& tenant = found != tenants_.end() ? found->second : Insert(name);
      if (tenant.sequences == 0 && !present_.empty()) tenant.served = std::max(tenant.served, present_.begin()->first);
      tenant.sequences += count;
      Place(tenant);
      return {};
    });
  }

  void Leave(const std::string& name) noexcept {
    const auto found = tenants_.find(name);
    if (found == tenants_.end() || --found->second.sequences > 0) return;
    Place(found->second);
    // Who is not there and was served no more than those who are would begin where they are: that need not be
    // remembered.
    while (!absent_.empty() && (present_.empty() || absent_.begin()->first <= present_.begin()->first)) {
      tenants_.erase(tenants_.find(*absent_.begin()->second->name));
      absent_.erase(absent_.begin());
    }
  }

  void Serve(const std::string& name, double tokens) noexcept {
    const auto found = tenants_.find(name);
    if (found == tenants_.end()) return;
    found->second.served += tokens;
    Place(found->second);
  }

  double served(const std::string& name) const {
    const auto found = tenants_.find(name);
    return found == tenants_.end() ? 0.0 : found->second.served;
  }

  // Numbers a tenant's sequences 0, 1, 2, ..., one with each call, in each `round` anew.
  uint64_t NextTurn(const std::string& name, uint64_t round) noexcept {
    const auto found = tenants_.find(name);
    if (found == tenants_.end()) return 0;
    if (std::exchange(found->second.round, round) != round) found->second.turns = 0;
    return found->second.turns++;
  }

 private:
  struct Tenant;
  using ByService = std::multimap<double, Tenant*>;  // by tokens served
  struct Tenant {
    double served = 0.0;  // tokens
    uint64_t sequences = 0;
    uint64_t round = 0, turns = 0;
    const std::string* name = nullptr;
    ByService::iterator place = {};
    bool is_present = false;  // its place is in present_
  };

  Tenant& Insert(const std::string& name) {
    ByService place;
    const auto node = place.emplace(0.0, nullptr);
    const auto inserted = tenants_.try_emplace(name).first;
    Tenant& tenant = inserted->second;
    tenant.name = &inserted->first;
    tenant.place = node;
    node->second = &tenant;
    absent_.merge(place);
    return tenant;
  }

  // Puts it where its service and its presence say.
  void Place(Tenant& tenant) noexcept {
    auto node = (tenant.is_present ? present_ : absent_).extract(tenant.place);
    node.key() = tenant.served;
    tenant.is_present = tenant.sequences > 0;
    tenant.place = (tenant.is_present ? present_ : absent_).insert(std::move(node));
  }

  std::map<std::string, Tenant> tenants_;
  ByService present_, absent_;  // those with sequences, and without
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_TENANTS_H_
