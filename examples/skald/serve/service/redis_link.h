// SPDX-License-Identifier: Apache-2.0
//
// RedisLink: a Redis server that may come and go. While it cannot be reached every call fails at once, but for one try
// every few seconds, so that nobody waits for it; its loss and its return are told once each.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_SERVICE_REDIS_LINK_H_
#define SKALD_EXAMPLES_SKALD_SERVE_SERVICE_REDIS_LINK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/store/backends/redis_store.h"

namespace skald::serve {

// A ChunkStore.
class RedisLink {
 public:
  // `tell` gets a sentence for people; any thread may call it.
  RedisLink(RedisOptions options, std::function<void(const std::string&)> tell)
      : options_(std::move(options)), tell_(std::move(tell)) {}

  Result<bool> Has(const ChunkKey& key) {
    return Run<bool>([&](const RedisStore& store) { return store.Has(key); });
  }
  Result<ChunkBytes> Get(const ChunkKey& key) {
    return Run<ChunkBytes>([&](const RedisStore& store) { return store.Get(key); });
  }
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) {
    return Run<ChunkFront>([&](const RedisStore& store) { return store.Front(key, most); });
  }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) {
    return Run<void>([&](const RedisStore& store) { return store.Put(key, value); });
  }
  Result<void> Drop(const ChunkKey& key) {
    return Run<void>([&](const RedisStore& store) { return store.Drop(key); });
  }
  Result<std::vector<ChunkKey>> List() {
    return Run<std::vector<ChunkKey>>([&](const RedisStore& store) { return store.List(); });
  }

  bool is_up() const { return is_up_; }
  uint64_t errors() const { return errors_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{5};

  template <class T, class Call>
  Result<T> Run(Call call) {
    const auto store = Connected();
    if (!store) return Failure(store.error());
    Result<T> result = call(**store);
    if (!result && result.error().code == ErrorCode::kFailedPrecondition) Lost(result.error());
    return result;
  }

  Result<std::shared_ptr<const RedisStore>> Connected() {
    const std::lock_guard lock(mutex_);
    if (store_ != nullptr) return store_;
    if (Clock::now() < next_try_) {
      ++errors_;
      return Fail(ErrorCode::kFailedPrecondition, "Redis is out of reach");
    }
    auto store = RedisStore::Connect(options_);
    if (!store) {
      NoteLoss(store.error());
      return Failure(store.error());
    }
    if (has_lost_) tell_("Redis is back");
    is_up_ = true;
    has_lost_ = false;
    return store_ = std::make_shared<const RedisStore>(*std::move(store));
  }

  void Lost(const Error& error) {
    const std::lock_guard lock(mutex_);
    NoteLoss(error);
    store_ = nullptr;
  }
  void NoteLoss(const Error& error) {
    ++errors_;
    next_try_ = Clock::now() + kPause;
    is_up_ = false;
    if (!std::exchange(has_lost_, true)) tell_(error.message + "; going on without it");
  }

  const RedisOptions options_;
  const std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::shared_ptr<const RedisStore> store_;  // null while there is none; guarded by mutex_, as what follows
  Clock::time_point next_try_;
  bool has_lost_ = false;
  std::atomic<bool> is_up_ = false;
  std::atomic<uint64_t> errors_ = 0;
};

static_assert(ChunkStore<RedisLink>);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_SERVICE_REDIS_LINK_H_
