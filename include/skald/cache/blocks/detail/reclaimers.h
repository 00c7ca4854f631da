// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/reclaimers.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_RECLAIMERS_H_
#define SKALD_CACHE_BLOCKS_DETAIL_RECLAIMERS_H_

#include "skald/cache/blocks/reclaimers.h"

#include <iterator>
#include <mutex>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Reclaimers::Registration& Reclaimers::Registration::operator=(Registration&& other) noexcept {
  std::swap(list_, other.list_);
  std::swap(place_, other.place_);
  return *this;
}

SKALD_INLINE Reclaimers::Registration::~Registration() {
  if (list_ == nullptr) return;
  const std::unique_lock lock(list_->mutex_);
  list_->reclaimers_.erase(place_);
}

SKALD_INLINE Result<Reclaimers::Registration> Reclaimers::Add(const std::shared_ptr<Reclaimers>& list,
                                                              Reclaimer reclaimer) {
  return NoThrow("adding a reclaimer", [&]() -> Result<Registration> {
    std::list<Reclaimer> added;
    added.push_back(std::move(reclaimer));
    const std::unique_lock lock(list->mutex_);
    list->reclaimers_.splice(list->reclaimers_.end(), added);
    Registration registration;
    registration.list_ = list;
    registration.place_ = std::prev(list->reclaimers_.end());
    return registration;
  });
}

SKALD_INLINE uint64_t Reclaimers::Reclaim(uint64_t missing_bytes) {
  const std::shared_lock lock(mutex_);
  for (const Reclaimer& reclaim : reclaimers_) {
    if (const uint64_t freed = reclaim(missing_bytes); freed > 0) return freed;
  }
  return 0;
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_RECLAIMERS_H_
