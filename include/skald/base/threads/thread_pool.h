// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: the Executor that Skald ships. The calling thread works too. Between operations workers spin for a short
// while, since the next operation usually follows within microseconds, and then sleep. Run may be called from one
// thread at a time; give each thread that calls Forward its own pool.
//
// Threads do not survive in a child of fork(). There the calling thread does all of the work: it waits only for tasks
// that another thread has claimed, and there is no other thread.

#ifndef SKALD_BASE_THREADS_THREAD_POOL_H_
#define SKALD_BASE_THREADS_THREAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/pause.h"

namespace skald {

/// More than any machine has; a larger request is refused as a mistake.
inline constexpr uint32_t kMaxThreads = 1024;

class ThreadPool {
 public:
  /// `num_workers` threads work in all, the calling one included; 0 counts as 1. If the system refuses to start another
  /// thread, the threads that did start do the work.
  explicit ThreadPool(size_t num_workers) noexcept;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  ~ThreadPool();

  size_t num_workers() const { return threads_.list.size() + 1; }

  void Run(size_t num_tasks, TaskRef task);

 private:
  // Tasks are claimed by counting up the low half of `state_`; the high half numbers the runs. A worker that comes late
  // to one run thus never claims a task of the next with values of the last: its exchange fails.
  static constexpr uint64_t kRun = uint64_t{1} << 32;
  static constexpr uint32_t kClosed = ~uint32_t{0};  ///< no task can be claimed while the fields change
  /// About 50 microseconds, longer than the gap between two operations of a decode step. Then some hundred more, in
  /// which any other ready thread goes first: a worker's last piece may end that much later than another's. Sleeping
  /// and waking costs about as much.
  static constexpr int kSpins = 1000, kYields = 500;

  /// Handles that are only destroyed explicitly: threads that are not in this process can be neither joined nor
  /// destroyed, so their handles are abandoned.
  union Handles {
    Handles() : list() {}
    ~Handles() {}
    std::vector<std::thread> list;
  };

  /// Returns false if the system has no more threads, or no memory for one.
  bool StartThread();

  /// Identifies this process, to tell it from its children.
  static int64_t ThisProcess();

  /// `task` must live until all its tasks are done.
  void Publish(uint32_t num_tasks, const TaskRef& task);

  void Wake();

  /// Returns false when there is no task left to claim.
  bool RunOneTask();

  void Work();

  template <class Condition>
  static void SpinThenWait(std::atomic<uint32_t>& value, Condition is_met);

  std::atomic<uint64_t> state_{kClosed};
  std::atomic<const TaskRef*> task_{nullptr};
  std::atomic<uint32_t> num_tasks_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<uint32_t> wake_{0};
  std::atomic<bool> stop_{false};
  const int64_t process_ = ThisProcess();
  Handles threads_;  ///< last: the threads use the members above
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/thread_pool.h"
#endif

#endif  // SKALD_BASE_THREADS_THREAD_POOL_H_
