// SPDX-License-Identifier: Apache-2.0
//
// Router: from a request to its endpoint: who asks, whether they may, which path and method, and what an error looks
// like.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_API_ROUTER_H_
#define SKALD_EXAMPLES_SKALD_SERVE_API_ROUTER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/api/call.h"
#include "serve/api/preparation.h"
#include "serve/http/exchange.h"
#include "serve/service/metrics.h"
#include "serve/service/service.h"
#include "serve/service/tenants.h"

namespace skald::serve {

struct RouterOptions {
  // Origins of pages of other servers that may use this one; "*" for all. None: only its own page.
  std::vector<std::string> origins = {};
  // Appends what the router does not know of, for Prometheus.
  std::function<void(std::string& out)> more_metrics = {};
  // Answers of all tenants at a time, those that wait included; more are refused.
  uint64_t most_answers = std::numeric_limits<uint64_t>::max();
  WorkPoolOptions preparation = {};
  // Seconds without a step, while there is work, after which the engine counts as stuck.
  double stall_seconds = 60.0;
  // Tells of stores that the service does not know, by name, whether they answer.
  std::function<void(std::map<std::string, bool>& answers)> more_stores = {};
};

// Safe for concurrent calls.
class Router {
 public:
  Router(Tenants tenants, RouterOptions options)
      : tenants_(std::move(tenants)), options_(std::move(options)), preparation_(options_.preparation) {
    room_.most = options_.most_answers;
  }

  // There is a model from now on; until then endpoints that need one say that they wait for it.
  void SetService(std::shared_ptr<Service> service) {
    const std::lock_guard lock(mutex_);
    service_ = std::move(service);
  }

  // Gives up what is being prepared, and waits `grace` at most until nobody works at it any more. Returns whether that
  // is so. No request is answered after it.
  bool StopPreparing(std::chrono::milliseconds grace) { return preparation_.Stop(grace); }

  // A Handler. Never throws.
  std::unique_ptr<Exchange> Handle(HttpRequest request, Wake wake);

 private:
  std::unique_ptr<Exchange> Route(HttpRequest& request, const Wake& wake, std::string& path);
  std::unique_ptr<Exchange> Health() const;
  std::unique_ptr<Exchange> WriteMetrics() const;
  Tenant& Authorize(const HttpRequest& request) const;
  bool MayUse(const HttpRequest& request) const;
  std::unique_ptr<Exchange> Preflight() const;
  std::shared_ptr<Service> service() const {
    const std::lock_guard lock(mutex_);
    return service_;
  }

  const Tenants tenants_;
  const RouterOptions options_;
  Metrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<Service> service_;  // guarded by mutex_; null while it loads
  AnswerRoom room_;
  Preparation preparation_;  // whose threads use all of the above
};

// The body of an answer that no endpoint gives.
std::string PlainErrorBody(int status, std::string_view message);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_API_ROUTER_H_
