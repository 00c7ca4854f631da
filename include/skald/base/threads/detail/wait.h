// SPDX-License-Identifier: Apache-2.0
//
// Waits until a number changes. It is std::atomic's wait, but not where libstdc++ has no futex to build on (Windows,
// macOS): there that of g++ 12 looks at the number before it takes its lock, and may sleep through a notification
// (bits/atomic_wait.h, __waiter_pool_base::_M_do_wait).

#ifndef SKALD_BASE_THREADS_DETAIL_WAIT_H_
#define SKALD_BASE_THREADS_DETAIL_WAIT_H_

#include <atomic>
#include <cstdint>

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_LINUX_FUTEX)
#include <condition_variable>
#include <mutex>
#endif

namespace skald::internal {

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_LINUX_FUTEX)

// One for all numbers: waiting follows a while of spinning, and is rare. It outlives all threads.
struct Waiters {
  std::mutex mutex;
  std::condition_variable changed;
};
inline Waiters& AllWaiters() {
  static Waiters* const waiters = new Waiters;
  return *waiters;
}

// Returns once `value` is not `old`.
inline void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) {
  std::unique_lock lock(AllWaiters().mutex);
  AllWaiters().changed.wait(lock, [&] { return value.load() != old; });
}

// Wakes all that wait for a change of `value`, which has happened.
inline void WakeAll(std::atomic<uint32_t>&) {
  { const std::lock_guard lock(AllWaiters().mutex); }
  AllWaiters().changed.notify_all();
}

#else

inline void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) { value.wait(old); }
inline void WakeAll(std::atomic<uint32_t>& value) { value.notify_all(); }

#endif

}  // namespace skald::internal

#endif  // SKALD_BASE_THREADS_DETAIL_WAIT_H_
