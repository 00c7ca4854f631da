// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/tenants.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_TENANTS_H_
#define SKALD_ENGINE_PLAN_DETAIL_TENANTS_H_

#include "skald/engine/plan/tenants.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<void> Tenants::Enter(const std::string& name, uint64_t count) {
  return NoThrow("Tenants", [&]() -> Result<void> {
    const auto found = tenants_.find(name);
    Tenant& tenant = found != tenants_.end() ? found->second : Insert(name);
    if (tenant.sequences == 0 && !present_.empty()) tenant.served = std::max(tenant.served, present_.begin()->first);
    tenant.sequences += count;
    Place(tenant);
    return {};
  });
}

SKALD_INLINE void Tenants::Leave(const std::string& name) noexcept {
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

SKALD_INLINE void Tenants::Serve(const std::string& name, double tokens) noexcept {
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return;
  found->second.served += tokens;
  Place(found->second);
}

SKALD_INLINE double Tenants::served(const std::string& name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? 0.0 : found->second.served;
}

SKALD_INLINE uint64_t Tenants::NextTurn(const std::string& name, uint64_t round) noexcept {
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return 0;
  if (std::exchange(found->second.round, round) != round) found->second.turns = 0;
  return found->second.turns++;
}

SKALD_INLINE Tenants::Tenant& Tenants::Insert(const std::string& name) {
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

SKALD_INLINE void Tenants::Place(Tenant& tenant) noexcept {
  auto node = (tenant.is_present ? present_ : absent_).extract(tenant.place);
  node.key() = tenant.served;
  tenant.is_present = tenant.sequences > 0;
  tenant.place = (tenant.is_present ? present_ : absent_).insert(std::move(node));
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_TENANTS_H_
