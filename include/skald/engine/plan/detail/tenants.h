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
    Place(tenant, present_, tenant.served);
    return {};
  });
}

SKALD_INLINE void Tenants::Leave(const std::string& name, double now) noexcept {
  const auto found = tenants_.find(name);
  if (found == tenants_.end() || --found->second.sequences > 0) return;
  Place(found->second, lately_, now);
  (void)LeftLately(now);
}

SKALD_INLINE size_t Tenants::LeftLately(double now) noexcept {
  while (!lately_.empty() && now - lately_.begin()->first >= kLately) {
    Tenant& tenant = *lately_.begin()->second;
    Place(tenant, absent_, tenant.served);
  }
  ForgetAbsent();
  return lately_.size();
}

SKALD_INLINE void Tenants::Serve(const std::string& name, double tokens) noexcept {
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return;
  Tenant& tenant = found->second;
  tenant.served += tokens;
  if (tenant.list != &lately_) Place(tenant, *tenant.list, tenant.served);
}

SKALD_INLINE double Tenants::served(const std::string& name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? 0.0 : found->second.served;
}

SKALD_INLINE uint32_t Tenants::number(const std::string& name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? next_number_ : found->second.number;
}

SKALD_INLINE uint64_t Tenants::NextTurn(const std::string& name, uint64_t round) noexcept {
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return 0;
  if (std::exchange(found->second.round, round) != round) found->second.turns = 0;
  return found->second.turns++;
}

SKALD_INLINE Tenants::Tenant& Tenants::Insert(const std::string& name) {
  InOrder place;
  const auto node = place.emplace(0.0, nullptr);
  const auto inserted = tenants_.try_emplace(name).first;
  Tenant& tenant = inserted->second;
  tenant.number = next_number_++;
  tenant.name = &inserted->first;
  tenant.list = &absent_;
  tenant.place = node;
  node->second = &tenant;
  absent_.merge(place);
  return tenant;
}

SKALD_INLINE void Tenants::Place(Tenant& tenant, InOrder& list, double key) noexcept {
  auto node = tenant.list->extract(tenant.place);
  node.key() = key;
  tenant.list = &list;
  tenant.place = list.insert(std::move(node));
}

SKALD_INLINE void Tenants::ForgetAbsent() noexcept {
  while (!absent_.empty() && (present_.empty() || absent_.begin()->first <= present_.begin()->first)) {
    tenants_.erase(tenants_.find(*absent_.begin()->second->name));
    absent_.erase(absent_.begin());
  }
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_TENANTS_H_
