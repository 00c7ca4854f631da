// SPDX-License-Identifier: Apache-2.0
//
// Reclaimers: those who can give up blocks of a pool when it is full, prompt caches above all. They are asked in the
// order in which they were added, each until it has nothing left to give: so whoever sets up a pool decides, by that
// order, what goes first. Safe for concurrent calls.

#ifndef SKALD_CACHE_BLOCKS_RECLAIMERS_H_
#define SKALD_CACHE_BLOCKS_RECLAIMERS_H_

#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

// Called with how many bytes are missing, possibly by several threads at once; gives up what frees so many if it can,
// and returns how many bytes are free now that were not. 0: it has nothing that would free any. It must not add or
// remove reclaimers, nor take blocks of the pool.
using Reclaimer = std::function<uint64_t(uint64_t missing_bytes)>;

class Reclaimers {
 public:
  // Being asked: ends with this object. Afterwards no call of the reclaimer goes on any more.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&&) noexcept = default;
    Registration& operator=(Registration&& other) noexcept {
      std::swap(list_, other.list_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Registration() {
      if (list_ == nullptr) return;
      const std::unique_lock lock(list_->mutex_);
      list_->reclaimers_.erase(place_);
    }

   private:
    friend class Reclaimers;

    std::shared_ptr<Reclaimers> list_;
    std::list<Reclaimer>::iterator place_;
  };

  // Error: kResourceExhausted where there is no memory for it.
  static Result<Registration> Add(const std::shared_ptr<Reclaimers>& list, Reclaimer reclaimer) {
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

  // Returns what the first that could give anything gave.
  uint64_t Reclaim(uint64_t missing_bytes) {
    const std::shared_lock lock(mutex_);
    for (const Reclaimer& reclaim : reclaimers_) {
      if (const uint64_t freed = reclaim(missing_bytes); freed > 0) return freed;
    }
    return 0;
  }

 private:
  std::shared_mutex mutex_;
  std::list<Reclaimer> reclaimers_;  // guarded by mutex_
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_RECLAIMERS_H_
