// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/requests/filter_workers.h.

#ifndef SKALD_ENGINE_REQUESTS_DETAIL_FILTER_WORKERS_H_
#define SKALD_ENGINE_REQUESTS_DETAIL_FILTER_WORKERS_H_

#include "skald/engine/requests/filter_workers.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/threads/priority.h"

namespace skald {

SKALD_INLINE FilterWorkers::FilterWorkers(size_t threads) {
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) threads_.emplace_back([this] { Run(); });
}

SKALD_INLINE FilterWorkers::~FilterWorkers() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

SKALD_INLINE void FilterWorkers::Add(const std::string& tenant, std::shared_ptr<FilterWork> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_[tenant].push_back(std::move(work));
  }
  changed_.notify_one();
}

SKALD_INLINE void FilterWorkers::Run() {
  LowerThreadPriority();
  while (const std::shared_ptr<FilterWork> work = Take()) {
    if (work.use_count() > 1) work->Do();
  }
}

SKALD_INLINE std::shared_ptr<FilterWork> FilterWorkers::Take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
  if (is_over_) return nullptr;
  auto next = waiting_.upper_bound(last_);
  if (next == waiting_.end()) next = waiting_.begin();
  std::shared_ptr<FilterWork> work = std::move(next->second.front());
  next->second.pop_front();
  last_ = next->first;
  if (next->second.empty()) waiting_.erase(next);
  return work;
}

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DETAIL_FILTER_WORKERS_H_
