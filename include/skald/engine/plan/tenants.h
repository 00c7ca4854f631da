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

#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

class Tenants {
 public:
  // So many more sequences of `name` are there. Error: kResourceExhausted; then they are not.
  Result<void> Enter(const std::string& name, uint64_t count = 1) {
    return NoThrow("Tenants", [&]() -> Result<void> {
      const double least = LeastServed();
      Tenant& tenant = tenants_[name];
      if (tenant.sequences == 0 && least < std::numeric_limits<double>::infinity()) {
        tenant.served = std::max(tenant.served, least);
      }
      tenant.sequences += count;
      return {};
    });
  }

  void Leave(const std::string& name) noexcept {
    const auto found = tenants_.find(name);
    if (found == tenants_.end() || --found->second.sequences > 0) return;
    // Who is not there and was served no more than those who are would begin where they are: that need not be
    // remembered.
    const double least = LeastServed();
    std::erase_if(tenants_,
                  [=](const auto& entry) { return entry.second.sequences == 0 && entry.second.served <= least; });
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

  // Of those who are there; infinity if nobody is.
  double LeastServed() const noexcept {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, tenant] : tenants_) {
      if (tenant.sequences > 0) least = std::min(least, tenant.served);
    }
    return least;
  }

  std::map<std::string, Tenant> tenants_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_TENANTS_H_
