// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/thread_pool.h.

#ifndef SKALD_BASE_THREADS_DETAIL_THREAD_POOL_H_
#define SKALD_BASE_THREADS_DETAIL_THREAD_POOL_H_

#include "skald/base/threads/thread_pool.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/detail/system.h"
#include "skald/base/threads/detail/wait.h"
#include "skald/base/threads/pause.h"

namespace skald {

SKALD_INLINE ThreadPool::ThreadPool(size_t num_workers) noexcept {
  for (size_t i = 1; i < num_workers; ++i) {
    if (!StartThread()) break;
  }
}

SKALD_INLINE ThreadPool::~ThreadPool() {
  if (ThisProcess() != process_) return;
  stop_.store(true);
  Wake();
  for (std::thread& thread : threads_.list) thread.join();
  threads_.list.~vector();
}

SKALD_INLINE void ThreadPool::Run(size_t num_tasks, TaskRef task) {
  if (num_tasks <= 1 || threads_.list.empty()) {
    for (size_t i = 0; i < num_tasks; ++i) task(i);
    return;
  }
  Publish(static_cast<uint32_t>(num_tasks), task);
  while (RunOneTask()) {
  }
  SpinThenWait(done_, [num_tasks](uint32_t done) { return done == num_tasks; });
}

SKALD_INLINE bool ThreadPool::StartThread() {
  return NoThrow("a thread",
                 [this]() -> Result<void> {
                   threads_.list.emplace_back([this] { Work(); });
                   return {};
                 })
      .has_value();
}

SKALD_INLINE int64_t ThreadPool::ThisProcess() { return internal::ProcessNumber(); }

SKALD_INLINE void ThreadPool::Publish(uint32_t num_tasks, const TaskRef& task) {
  const uint64_t run = (state_.load() / kRun + 1) * kRun;
  state_.store(run | kClosed);
  task_.store(&task);
  num_tasks_.store(num_tasks);
  done_.store(0);
  state_.store(run);
  Wake();
}

SKALD_INLINE void ThreadPool::Wake() {
  wake_.fetch_add(1);
  internal::WakeAll(wake_);
}

SKALD_INLINE bool ThreadPool::RunOneTask() {
  uint64_t state = state_.load();
  for (;;) {
    const auto next = static_cast<uint32_t>(state);
    const uint32_t num_tasks = num_tasks_.load();
    const TaskRef* const task = task_.load();
    if (next == kClosed || next >= num_tasks) return false;
    if (!state_.compare_exchange_weak(state, state + 1)) continue;
    (*task)(next);
    if (done_.fetch_add(1) + 1 == num_tasks) internal::WakeAll(done_);
    return true;
  }
}

SKALD_INLINE void ThreadPool::Work() {
  uint32_t seen = 0;
  while (!stop_.load()) {
    while (RunOneTask()) {
    }
    SpinThenWait(wake_, [seen](uint32_t wake) { return wake != seen; });
    seen = wake_.load();
  }
}

template <class Condition>
void ThreadPool::SpinThenWait(std::atomic<uint32_t>& value, Condition is_met) {
  for (int i = 0; i < kSpins; ++i) {
    if (is_met(value.load())) return;
    Pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (is_met(value.load())) return;
    std::this_thread::yield();
  }
  for (uint32_t now = value.load(); !is_met(now); now = value.load()) internal::WaitWhile(value, now);
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_THREAD_POOL_H_
