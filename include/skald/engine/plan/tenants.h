// SPDX-License-Identifier: Apache-2.0
//
// Tenants: how much each was served, for fair shares. Who comes back after a while begins where those are who are
// there: time in which nothing was asked for is not saved up (virtual token counters: Sheng et al., arXiv:2401.00588).

#ifndef SKALD_ENGINE_PLAN_TENANTS_H_
#define SKALD_ENGINE_PLAN_TENANTS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace skald {

class Tenants {
 public:
  // One more sequence of `name` is there.
  void Enter(const std::string& name) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [other, tenant] : tenants_) {
      if (tenant.sequences > 0) least = std::min(least, tenant.served);
    }
    Tenant& tenant = tenants_[name];
    if (tenant.sequences++ == 0 && least < std::numeric_limits<double>::infinity()) {
      tenant.served = std::max(tenant.served, least);
    }
  }

  void Leave(const std::string& name) noexcept {
    const auto found = tenants_.find(name);
    if (found != tenants_.end()) --found->second.sequences;
    // Who is not there and owes nothing to those who are need not be remembered.
    if (std::ranges::none_of(tenants_, [](const auto& entry) { return entry.second.sequences > 0; })) tenants_.clear();
  }

  void Serve(const std::string& name, double tokens) noexcept {
    if (const auto found = tenants_.find(name); found != tenants_.end()) found->second.served += tokens;
  }

  double served(const std::string& name) const {
    const auto found = tenants_.find(name);
    return found == tenants_.end() ? 0.0 : found->second.served;
  }

 private:
  struct Tenant {
    double served = 0.0;  // tokens
    uint64_t sequences = 0;
  };
  std::map<std::string, Tenant> tenants_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_TENANTS_H_
