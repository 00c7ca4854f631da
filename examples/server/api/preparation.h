// SPDX-License-Identifier: Apache-2.0
//
// Requests are prepared on threads of their own. Preparing is all that comes before the engine has a request: reading
// JSON, rendering, encoding. The threads that serve connections only hand requests over.

#ifndef SKALD_EXAMPLES_SERVER_API_PREPARATION_H_
#define SKALD_EXAMPLES_SERVER_API_PREPARATION_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/service/work_pool.h"

namespace skald::serve {

// Safe for concurrent calls.
class Preparation {
 public:
  // Answers a request. Must not throw. `is_abandoned` says whether no client waits for the answer any more. Preparing
  // then ends as soon as it can, and the value returned does not count. Null: the request waits for something, and no
  // thread with it; `again`, which any thread may call once, has it prepared anew.
  using Prepare = std::function<std::unique_ptr<Exchange>(const HttpRequest& request, const Wake& wake,
                                                          const std::function<bool()>& is_abandoned,
                                                          const std::function<void()>& again)>;

  explicit Preparation(const WorkPoolOptions& options) : pool_(options) {}

  // An exchange that is silent until the request is prepared, and then the one that `prepare` returns. Thrown: 503
  // where too many requests wait for it.
  std::unique_ptr<Exchange> Begin(const std::string& tenant, HttpRequest request, Wake wake, Prepare prepare);

  // Requests that wait for a thread or are being prepared.
  size_t size() const { return pool_.size(); }

  // Drops what waits, tells what runs to end, and waits `grace` at most for it. Returns whether nothing runs.
  bool Stop(std::chrono::milliseconds grace) {
    is_stopping_ = true;
    return pool_.Stop(grace);
  }

 private:
  std::atomic<bool> is_stopping_ = false;  // outlives the pool's threads
  WorkPool pool_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_PREPARATION_H_
