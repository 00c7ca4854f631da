// SPDX-License-Identifier: Apache-2.0
//
// FilterWorkers: threads that do the long work of requests' filters, so that the engine's thread does not. Tenants take
// turns, so that one with many long grammars makes its own requests wait.

#ifndef SKALD_ENGINE_REQUESTS_FILTER_WORKERS_H_
#define SKALD_ENGINE_REQUESTS_FILTER_WORKERS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skald/constraints/token_filter.h"

namespace skald {

/// Safe for concurrent calls.
class FilterWorkers {
 public:
  /// Starts `threads` threads, at least one. Throws std::bad_alloc, and std::system_error if the system refuses a
  /// thread.
  explicit FilterWorkers(size_t threads = 1);
  /// Waits for the work that was begun; the rest is not done.
  ~FilterWorkers();
  FilterWorkers(const FilterWorkers&) = delete;
  FilterWorkers& operator=(const FilterWorkers&) = delete;

  /// Does it soon, unless it has no other owner any more when its turn comes.
  void Add(const std::string& tenant, std::shared_ptr<FilterWork> work);

 private:
  void Run();

  /// The next one, or null at the end.
  std::shared_ptr<FilterWork> Take();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<std::shared_ptr<FilterWork>>>
      waiting_;       ///< by tenant; guarded by mutex_, as the rest
  std::string last_;  ///< whose turn was last
  bool is_over_ = false;
  std::vector<std::thread> threads_;  ///< last: they use all of the above
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/requests/detail/filter_workers.h"
#endif

#endif  // SKALD_ENGINE_REQUESTS_FILTER_WORKERS_H_
