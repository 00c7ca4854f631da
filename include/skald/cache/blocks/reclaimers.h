// SPDX-License-Identifier: Apache-2.0
//
// Reclaimers: callbacks that give up blocks of a pool when it is full, prompt caches above all. They are called in the
// order in which they were added, each until it has nothing left to give: so the code that sets up a pool decides, by
// that order, what is given up first. Safe for concurrent calls.

#ifndef SKALD_CACHE_BLOCKS_RECLAIMERS_H_
#define SKALD_CACHE_BLOCKS_RECLAIMERS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <shared_mutex>

#include "skald/base/result.h"

namespace skald {

/// Called with the number of missing bytes, possibly by several threads at once. It frees so many if it can, and
/// returns how many bytes it freed. 0: it has nothing that would free any. It must not add or remove reclaimers, nor
/// take blocks of the pool.
using Reclaimer = std::function<uint64_t(uint64_t missing_bytes)>;

class Reclaimers {
 public:
  /// Keeps a reclaimer registered while this object lives. After its destruction no call of the reclaimer is running.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&&) noexcept = default;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();

   private:
    friend class Reclaimers;

    std::shared_ptr<Reclaimers> list_;
    std::list<Reclaimer>::iterator place_;
  };

  /// Error: kResourceExhausted if there is no memory for it.
  static Result<Registration> Add(const std::shared_ptr<Reclaimers>& list, Reclaimer reclaimer);

  /// Returns the bytes that the first reclaimer with anything to give freed.
  uint64_t Reclaim(uint64_t missing_bytes);

 private:
  std::shared_mutex mutex_;
  std::list<Reclaimer> reclaimers_;  ///< guarded by mutex_
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/reclaimers.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_RECLAIMERS_H_
