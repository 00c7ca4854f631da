// SPDX-License-Identifier: Apache-2.0
//
// BackgroundQueue: a thread that runs tasks in order, so that callers need not wait for them. The queue is bounded:
// when it is full, a task is dropped and counted. So it is for optional work, such as filling a cache.

#ifndef SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_
#define SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "skald/base/result.h"

namespace skald {

/// Limits of a BackgroundQueue; a task beyond them is not queued.
struct BackgroundLimits {
  size_t tasks = 256;                    ///< waiting or running
  uint64_t bytes = uint64_t{256} << 20;  ///< of memory that the tasks hold, as their owners state
};

/// Counts of a BackgroundQueue.
struct BackgroundStats {
  uint64_t tasks = 0, bytes = 0;   ///< waiting or running now
  uint64_t done = 0, dropped = 0;  ///< so far; a dropped task found the queue full or was withdrawn
};

/// Safe for concurrent calls.
class BackgroundQueue {
 public:
  /// Errors: kResourceExhausted; kFailedPrecondition if the system cannot start a thread.
  static Result<std::unique_ptr<BackgroundQueue>> Start(const BackgroundLimits& limits = {});
  /// Drops tasks that have not begun, and waits for the running one.
  ~BackgroundQueue();
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  /// Queues `task`. `owner` identifies the owner that may withdraw it; `bytes` is the memory that the task holds until
  /// it is done. Returns false, and changes nothing, if the queue is full or memory runs out.
  bool Post(const void* owner, std::function<void()> task, uint64_t bytes = 0) noexcept;

  /// Drops the owner's tasks that have not begun, and waits for its running one: afterwards no task uses the owner.
  /// Must not be called by a task.
  void Withdraw(const void* owner) noexcept;

  /// Waits until all tasks are done; returns false if they are not after `timeout`.
  bool WaitUntilDone(std::chrono::milliseconds timeout);

  /// The counts, now.
  BackgroundStats stats() const;

 private:
  struct Task {
    const void* owner;
    std::function<void()> work;
    uint64_t bytes;
  };

  explicit BackgroundQueue(const BackgroundLimits& limits) : limits_(limits) {}

  /// Called with the lock held. The caller destroys dropped tasks after it released the lock.
  template <class Condition>
  void DropIf(Condition condition, std::list<Task>& dropped) noexcept;

  void Run();

  const BackgroundLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Task> tasks_;          ///< guarded by mutex_, like the members below
  const Task* running_ = nullptr;  ///< null if there is none
  bool is_over_ = false;
  BackgroundStats stats_;
  std::thread thread_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/background_queue.h"
#endif

#endif  // SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_
