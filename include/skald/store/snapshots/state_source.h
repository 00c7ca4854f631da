// SPDX-License-Identifier: Apache-2.0
//
// The cache that a snapshot is made from: one that stays unchanged until the snapshot is written, or one whose owner
// may take its memory back meanwhile.

#ifndef SKALD_STORE_SNAPSHOTS_STATE_SOURCE_H_
#define SKALD_STORE_SNAPSHOTS_STATE_SOURCE_H_

#include <mutex>
#include <optional>
#include <utility>

#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"

namespace skald {

/// A cache that one thread owns and others read piece by piece. It is never changed.
class RevocableCache {
 public:
  /// Takes the cache.
  explicit RevocableCache(KVCache cache) : cache_(std::move(cache)) {}

  /// For the owner, until it revokes it.
  const KVCache& cache() const { return *cache_; }

  /// Gives the blocks back, as soon as the piece that is being read is done.
  void Revoke() noexcept;

  /// Whether the blocks were given back. Waits for the piece that is being read.
  bool is_revoked();

  /// Returns read(cache), a Result. Error: kFailedPrecondition if the cache was revoked.
  template <class Read>
  auto With(Read read) -> decltype(read(std::declval<const KVCache&>())) {
    const std::lock_guard lock(mutex_);
    if (!cache_) return Fail(ErrorCode::kFailedPrecondition, "the cache was revoked: its memory was needed elsewhere");
    return read(*cache_);
  }

 private:
  std::mutex mutex_;
  std::optional<KVCache> cache_;  ///< reset under mutex_
};

/// Refers to either, which must outlive it.
class StateSource {
 public:
  /// Reads the cache itself, which must not change meanwhile.
  StateSource(const KVCache& cache) : cache_(&cache) {}  // NOLINT: a reference like any other
  /// Reads the cache as long as it is not revoked.
  StateSource(RevocableCache& revocable) : revocable_(&revocable) {}  // NOLINT

  /// As RevocableCache::With.
  template <class Read>
  auto With(Read read) const -> decltype(read(std::declval<const KVCache&>())) {
    return revocable_ != nullptr ? revocable_->With(std::move(read)) : read(*cache_);
  }

  /// The error if it was revoked.
  Result<void> Check() const;

 private:
  const KVCache* cache_ = nullptr;
  RevocableCache* revocable_ = nullptr;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/state_source.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_STATE_SOURCE_H_
