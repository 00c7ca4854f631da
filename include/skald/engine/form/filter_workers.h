// SPDX-License-Identifier: Apache-2.0
//
// FilterWorkers: threads that do the long work of requests' filters, so that the engine's thread does not. Tenants take
// turns, so that one with many long grammars makes its own requests wait.

#ifndef SKALD_ENGINE_FORM_FILTER_WORKERS_H_
#define SKALD_ENGINE_FORM_FILTER_WORKERS_H_

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skald/text/filters/token_filter.h"

namespace skald {

// Safe for concurrent calls.
class FilterWorkers {
 public:
  explicit FilterWorkers(size_t threads = 1) {
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) threads_.emplace_back([this] { Run(); });
  }
  // Waits for the work that was begun; the rest is not done.
  ~FilterWorkers() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  FilterWorkers(const FilterWorkers&) = delete;
  FilterWorkers& operator=(const FilterWorkers&) = delete;

  // Does it soon, unless nobody else keeps it any more when its turn comes.
  void Add(const std::string& tenant, std::shared_ptr<FilterWork> work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_[tenant].push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void Run() {
    while (const std::shared_ptr<FilterWork> work = Take()) {
      if (work.use_count() > 1) work->Do();
    }
  }

  // The next one, or null at the end.
  std::shared_ptr<FilterWork> Take() {
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

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<std::shared_ptr<FilterWork>>> waiting_;  // by tenant; guarded by mutex_, as the rest
  std::string last_;                                                        // whose turn was last
  bool is_over_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace skald

#endif  // SKALD_ENGINE_FORM_FILTER_WORKERS_H_
