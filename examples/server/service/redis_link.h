// SPDX-License-Identifier: Apache-2.0
//
// RedisLink: a Redis server that may come and go. While it cannot be reached, every call fails at once, except for one
// try every few seconds, so that callers do not wait for it. Its loss and its return are told once each. There are a
// few connections, so that a read does not wait for a write.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_REDIS_LINK_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_REDIS_LINK_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
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

  // A connection, which one call has at a time.
  struct Lane {
    std::unique_ptr<const RedisStore> store;  // null if there is none yet, or no longer
    bool is_taken = false;
  };

  template <class T, class Call>
  Result<T> Run(Call call) {
    std::unique_lock lock(mutex_);
    const auto free_lane = [&] { return std::ranges::find(lanes_, false, &Lane::is_taken); };
    changed_.wait(lock, [&] { return IsPaused() || free_lane() != lanes_.end(); });
    if (IsPaused()) {
      ++errors_;
      return Fail(ErrorCode::kFailedPrecondition, "Redis is out of reach");
    }
    Lane& lane = *free_lane();
    lane.is_taken = true;
    // While the server is not known to be up, this call alone tries it.
    if (!is_up_) next_try_ = Clock::now() + kPause;
    lock.unlock();
    Result<T> result = CallOn<T>(lane, call);
    lock.lock();
    lane.is_taken = false;
    const bool is_lost = !result && result.error().code == ErrorCode::kFailedPrecondition;
    if (is_lost) lane.store = nullptr;
    NoteOutcome(is_lost ? &result.error() : nullptr);
    lock.unlock();
    changed_.notify_all();
    return result;
  }

  // Calls of several threads are on lanes of their own.
  template <class T, class Call>
  Result<T> CallOn(Lane& lane, Call call) {
    if (lane.store == nullptr) {
      SKALD_ASSIGN(auto store, RedisStore::Connect(options_));
      lane.store = std::make_unique<const RedisStore>(std::move(store));
    }
    return call(*lane.store);
  }

  // The rest with the lock held.
  bool IsPaused() const { return !is_up_ && Clock::now() < next_try_; }

  void NoteOutcome(const Error* loss) {
    if (loss == nullptr) {
      is_up_ = true;
      if (std::exchange(has_lost_, false)) tell_("Redis is back");
      return;
    }
    ++errors_;
    is_up_ = false;
    next_try_ = Clock::now() + kPause;
    if (!std::exchange(has_lost_, true)) tell_(loss->message + "; going on without it");
  }

  const RedisOptions options_;
  const std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Lane, 4> lanes_;  // guarded by mutex_, but for the stores of those that are taken; as what follows
  Clock::time_point next_try_;
  bool has_lost_ = false;
  std::atomic<bool> is_up_ = false;
  std::atomic<uint64_t> errors_ = 0;
};

static_assert(ChunkStore<RedisLink>);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_REDIS_LINK_H_
