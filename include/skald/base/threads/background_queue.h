// SPDX-License-Identifier: Apache-2.0
//
// BackgroundQueue: a thread that does what others must not wait for, one task after the other. The queue is bounded:
// what finds it full is not done, and counted. So it is for work that may be left out, as filling a cache is.

#ifndef SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_
#define SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

struct BackgroundLimits {
  size_t tasks = 256;                    // that wait or run
  uint64_t bytes = uint64_t{256} << 20;  // of memory that they hold, as their owners say
};

struct BackgroundStats {
  uint64_t tasks = 0, bytes = 0;   // that wait or run now
  uint64_t done = 0, dropped = 0;  // so far; dropped ones found the queue full or were withdrawn
};

// Safe for concurrent calls.
class BackgroundQueue {
 public:
  // Errors: kResourceExhausted, kFailedPrecondition where the system has no thread for it.
  static Result<std::unique_ptr<BackgroundQueue>> Start(const BackgroundLimits& limits = {}) {
    return NoThrow("BackgroundQueue", [&]() -> Result<std::unique_ptr<BackgroundQueue>> {
      std::unique_ptr<BackgroundQueue> queue(new BackgroundQueue(limits));
      queue->thread_ = std::thread([queue = queue.get()] { queue->Run(); });
      return queue;
    });
  }
  // Drops what has not begun, and waits for what runs.
  ~BackgroundQueue() {
    std::list<Task> dropped;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      DropIf([](const Task&) { return true; }, dropped);
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  // Has `task` done behind those that wait. `owner` is whoever may withdraw it; `bytes` is the memory that it holds
  // until it is done. False, and nothing has happened, where the queue is full or there is no memory.
  bool Post(const void* owner, std::function<void()> task, uint64_t bytes = 0) noexcept {
    const auto posted = NoThrow("BackgroundQueue", [&]() -> Result<bool> {
      std::list<Task> added;
      added.push_back({owner, std::move(task), bytes});
      const std::lock_guard lock(mutex_);
      const bool fits = stats_.tasks < limits_.tasks && bytes <= limits_.bytes - std::min(limits_.bytes, stats_.bytes);
      if (!fits || is_over_) {
        ++stats_.dropped;
        return false;
      }
      ++stats_.tasks;
      stats_.bytes += bytes;
      tasks_.splice(tasks_.end(), added);
      return true;
    });
    if (posted && *posted) changed_.notify_all();
    return posted && *posted;
  }

  // Drops the owner's tasks that have not begun, and waits for the one that runs: afterwards none of them touches it.
  // Not to be called by a task.
  void Withdraw(const void* owner) noexcept {
    std::list<Task> dropped;
    std::unique_lock lock(mutex_);
    DropIf([owner](const Task& task) { return task.owner == owner; }, dropped);
    changed_.wait(lock, [&] { return running_ == nullptr || running_->owner != owner; });
    lock.unlock();
  }

  // Waits until all tasks are done; false where they are not after `timeout`.
  bool WaitUntilDone(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return stats_.tasks == 0; });
  }

  BackgroundStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Task {
    const void* owner;
    std::function<void()> work;
    uint64_t bytes;
  };

  explicit BackgroundQueue(const BackgroundLimits& limits) : limits_(limits) {}

  // With the lock held. What is dropped is destroyed by the caller, without the lock.
  template <class Condition>
  void DropIf(Condition condition, std::list<Task>& dropped) noexcept {
    for (auto it = tasks_.begin(); it != tasks_.end();) {
      const auto at = it++;
      if (!condition(*at)) continue;
      --stats_.tasks;
      stats_.bytes -= at->bytes;
      ++stats_.dropped;
      dropped.splice(dropped.end(), tasks_, at);
    }
  }

  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::list<Task> running;
      running.splice(running.end(), tasks_, tasks_.begin());
      running_ = &running.front();
      lock.unlock();
      (void)NoThrow("a task", [&]() -> Result<void> {
        running.front().work();
        return {};
      });
      running.front().work = nullptr;  // what it holds goes before anybody hears that it is done
      lock.lock();
      running_ = nullptr;
      --stats_.tasks;
      stats_.bytes -= running.front().bytes;
      ++stats_.done;
      changed_.notify_all();
    }
  }

  const BackgroundLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Task> tasks_;          // guarded by mutex_, as what follows
  const Task* running_ = nullptr;  // null: none
  bool is_over_ = false;
  BackgroundStats stats_;
  std::thread thread_;
};

}  // namespace skald

#endif  // SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_
