// SPDX-License-Identifier: Apache-2.0
//
// WorkPool: a few threads for work that may take long, which the threads that serve connections must not do. Its queue
// is bounded, tenants take turns, and one thread does only small work, so that large work never keeps all small work
// waiting.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_WORK_POOL_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_WORK_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skald::serve {

struct WorkPoolOptions {
  int threads = 3;            // at least two; one of them for small work alone
  size_t most_waiting = 256;  // pieces of work, of all tenants
};

// Safe for concurrent calls.
class WorkPool {
 public:
  // Must not throw.
  using Work = std::function<void()>;
  enum class Size { kSmall, kLarge };

  explicit WorkPool(const WorkPoolOptions& options);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  // Drops what waits, and waits for what runs.
  ~WorkPool();

  // Puts `work` at the end of its tenant's queue. Returns false if as much work waits as the pool takes, or if the pool
  // has stopped.
  bool Add(const std::string& tenant, Size size, Work work);
  // The same for work that was taken before and has waited elsewhere: however much waits, it is taken.
  bool AddAgain(const std::string& tenant, Size size, Work work);

  // Pieces of work that wait or run.
  size_t size() const;

  // Takes no more work, drops what waits, and waits `grace` at most for what runs. Returns whether nothing runs.
  bool Stop(std::chrono::milliseconds grace);

 private:
  // The work that waits, of tenants in turns.
  class Turns {
   public:
    bool empty() const { return tenants_.empty(); }
    void Add(const std::string& tenant, Work work);
    Work Take();

   private:
    std::deque<std::pair<std::string, std::deque<Work>>> tenants_;  // none without work, whose turn it is first
  };

  bool AddUpTo(size_t most_waiting, const std::string& tenant, Size size, Work work);
  void Run(bool takes_large);
  bool HasWork(bool takes_large) const { return !small_.empty() || (takes_large && !large_.empty()); }

  const WorkPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Turns small_, large_;  // guarded by mutex_, as all that follows
  size_t waiting_ = 0, running_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_WORK_POOL_H_
