// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/background_queue.h.

#ifndef SKALD_BASE_THREADS_DETAIL_BACKGROUND_QUEUE_H_
#define SKALD_BASE_THREADS_DETAIL_BACKGROUND_QUEUE_H_

#include "skald/base/threads/background_queue.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<BackgroundQueue>> BackgroundQueue::Start(const BackgroundLimits& limits) {
  return NoThrow("BackgroundQueue", [&]() -> Result<std::unique_ptr<BackgroundQueue>> {
    std::unique_ptr<BackgroundQueue> queue(new BackgroundQueue(limits));
    queue->thread_ = std::thread([queue = queue.get()] { queue->Run(); });
    return queue;
  });
}

SKALD_INLINE BackgroundQueue::~BackgroundQueue() {
  std::list<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    DropIf([](const Task&) { return true; }, dropped);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

SKALD_INLINE bool BackgroundQueue::Post(const void* owner, std::function<void()> task, uint64_t bytes) noexcept {
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

SKALD_INLINE void BackgroundQueue::Withdraw(const void* owner) noexcept {
  std::list<Task> dropped;
  std::unique_lock lock(mutex_);
  DropIf([owner](const Task& task) { return task.owner == owner; }, dropped);
  changed_.wait(lock, [&] { return running_ == nullptr || running_->owner != owner; });
  lock.unlock();
}

SKALD_INLINE bool BackgroundQueue::WaitUntilDone(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return stats_.tasks == 0; });
}

SKALD_INLINE BackgroundStats BackgroundQueue::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

template <class Condition>
void BackgroundQueue::DropIf(Condition condition, std::list<Task>& dropped) noexcept {
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    const auto at = it++;
    if (!condition(*at)) continue;
    --stats_.tasks;
    stats_.bytes -= at->bytes;
    ++stats_.dropped;
    dropped.splice(dropped.end(), tasks_, at);
  }
}

SKALD_INLINE void BackgroundQueue::Run() {
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
    running.front().work = nullptr;  // its objects go before a waiting thread learns that it is done
    lock.lock();
    running_ = nullptr;
    --stats_.tasks;
    stats_.bytes -= running.front().bytes;
    ++stats_.done;
    changed_.notify_all();
  }
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_BACKGROUND_QUEUE_H_
