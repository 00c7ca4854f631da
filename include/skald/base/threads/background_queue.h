// SPDX-License-Identifier: Apache-2.0
//
// BackgroundQueue: a thread that does what others must not wait for, one task after the other. The queue is bounded:
// what finds it full is not done, and counted. So it is for work that may be left out, as filling a cache is.

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

struct BackgroundLimits {
  size_t tasks = 256;                    ///< that wait or run
  uint64_t bytes = uint64_t{256} << 20;  ///< of memory that they hold, as their owners say
};

struct BackgroundStats {
  uint64_t tasks = 0, bytes = 0;   ///< that wait or run now
  uint64_t done = 0, dropped = 0;  ///< so far; dropped ones found the queue full or were withdrawn
};

/// Safe for concurrent calls.
class BackgroundQueue {
 public:
  // Errors: kResourceExhausted, kFailedPrecondition where the system has no thread for it.
  static Result<std::unique_ptr<BackgroundQueue>> Start(const BackgroundLimits& limits = {});
  /// Drops what has not begun, and waits for what runs.
  ~BackgroundQueue();
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  /// Has `task` done behind those that wait. `owner` is whoever may withdraw it; `bytes` is the memory that it holds
  /// until it is done. False, and nothing has happened, where the queue is full or there is no memory.
  bool Post(const void* owner, std::function<void()> task, uint64_t bytes = 0) noexcept;

  /// Drops the owner's tasks that have not begun, and waits for the one that runs: afterwards none of them touches it.
  /// Not to be called by a task.
  void Withdraw(const void* owner) noexcept;

  /// Waits until all tasks are done; false where they are not after `timeout`.
  bool WaitUntilDone(std::chrono::milliseconds timeout);

  BackgroundStats stats() const;

 private:
  struct Task {
    const void* owner;
    std::function<void()> work;
    uint64_t bytes;
  };

  explicit BackgroundQueue(const BackgroundLimits& limits) : limits_(limits) {}

  /// With the lock held. What is dropped is destroyed by the caller, without the lock.
  template <class Condition>
  void DropIf(Condition condition, std::list<Task>& dropped) noexcept;

  void Run();

  const BackgroundLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Task> tasks_;          ///< guarded by mutex_, as what follows
  const Task* running_ = nullptr;  ///< null: none
  bool is_over_ = false;
  BackgroundStats stats_;
  std::thread thread_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/background_queue.h"
#endif

#endif  // SKALD_BASE_THREADS_BACKGROUND_QUEUE_H_
