// SPDX-License-Identifier: Apache-2.0
//
// Tenants: how much each was served, for fair shares. Who comes back after a while begins where those are who are
// there: time in which nothing was asked for is not saved up (virtual token counters: Sheng et al., arXiv:2401.00588).

#ifndef SKALD_ENGINE_PLAN_TENANTS_H_
#define SKALD_ENGINE_PLAN_TENANTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "skald/base/result.h"

namespace skald {

// Calls take O(log n) for n tenants.
class Tenants {
 public:
  Tenants() = default;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  // So many more sequences of `name` are there. Error: kResourceExhausted; then they are not.
  Result<void> Enter(const std::string& name, uint64_t count = 1);

  void Leave(const std::string& name) noexcept;

  void Serve(const std::string& name, double tokens) noexcept;

  double served(const std::string& name) const;

  // Numbers a tenant's sequences 0, 1, 2, ..., one with each call, in each `round` anew.
  uint64_t NextTurn(const std::string& name, uint64_t round) noexcept;

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

  Tenant& Insert(const std::string& name);

  // Puts it where its service and its presence say.
  void Place(Tenant& tenant) noexcept;

  std::map<std::string, Tenant> tenants_;
  ByService present_, absent_;  // those with sequences, and without
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/tenants.h"
#endif

#endif  // SKALD_ENGINE_PLAN_TENANTS_H_
