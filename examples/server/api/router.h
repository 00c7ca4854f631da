// SPDX-License-Identifier: Apache-2.0
//
// Router: leads a request to its endpoint. It identifies the client, checks its key, finds the endpoint of the path and
// method, and gives errors the form of the API that was asked.

#ifndef SKALD_EXAMPLES_SERVER_API_ROUTER_H_
#define SKALD_EXAMPLES_SERVER_API_ROUTER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/api/call.h"
#include "server/api/log/access_log.h"
#include "server/api/log/audit_log.h"
#include "server/api/preparation.h"
#include "server/api/routing/with_headers.h"
#include "server/api/site.h"
#include "server/http/exchange.h"
#include "server/http/spool.h"
#include "server/service/failed_keys.h"
#include "server/service/metrics.h"
#include "server/service/service.h"
#include "server/service/tenants.h"

namespace skald::serve {

struct RouterOptions {
  Site site;
  uint64_t body_bytes = uint64_t{32} << 20;   // of a request
  uint64_t import_bytes = uint64_t{4} << 30;  // of a conversation that comes from another server
  uint32_t failed_keys = 10;                  // that a client may send in a minute
  // Appends what the router does not know of, for Prometheus.
  std::function<void(std::string& out)> more_metrics = {};
  // Answers of all tenants at a time, those that wait included; more are refused.
  uint64_t most_answers = std::numeric_limits<uint64_t>::max();
  WorkPoolOptions preparation = {};
  // Seconds without a step, while there is work, after which the engine counts as stuck.
  double stall_seconds = 60.0;
  // Tells of stores that the service does not know, by name, whether they answer.
  std::function<void(std::map<std::string, bool>& answers)> more_stores = {};
  bool has_strict_fields = false;  // fields of requests that are not known are refused, not ignored
  // Get each request that was answered, and each act that one asked for; thread-safe. Empty: they are not told.
  std::function<void(const AnsweredRequest& request)> on_answered = {};
  std::function<void(const AuditedAct& act)> on_audited = {};
  // Writes a line of the log; thread-safe.
  std::function<void(const std::string& line)> tell = {};
};

// Safe for concurrent calls.
class Router {
 public:
  // Conversations that travel lie in `spool`, which must outlive this.
  Router(AccessKeys keys, RouterOptions options, Spool& spool)
      : options_(std::move(options)),
        spool_(spool),
        failed_keys_(options_.failed_keys),
        fields_(options_.has_strict_fields, options_.tell),
        keys_(std::make_shared<const AccessKeys>(std::move(keys))),
        preparation_(options_.preparation) {
    room_.most = options_.most_answers;
  }

  // There is a model from now on; until then endpoints that need one say that they wait for it.
  void SetService(std::shared_ptr<Service> service) {
    const std::lock_guard lock(mutex_);
    service_ = std::move(service);
  }

  // Requests need these keys from now on; those that were admitted before are answered. Answers count on for tenants
  // that stay.
  void SetKeys(AccessKeys keys) {
    const std::lock_guard lock(mutex_);
    keys.tenants.TakeCountsOf(keys_->tenants);
    keys_ = std::make_shared<const AccessKeys>(std::move(keys));
  }

  // Gives up the requests that are being prepared, and waits at most `grace` until no thread works at one any more.
  // Returns whether that is so. No request is answered after it.
  bool StopPreparing(std::chrono::milliseconds grace) { return preparation_.Stop(grace); }

  // A Handler: identifies the client, checks its key and finds the endpoint, all before the request's body is read.
  // Never throws.
  Admission Admit(const HttpRequest& head);

 private:
  struct Visit;

  // Returns the answer, or null if the answer needs the request's body; then `admission` says how the body is read.
  std::unique_ptr<Exchange> Route(const HttpRequest& head, const std::shared_ptr<Visit>& visit, Admission& admission);
  // The answer to a request that needs no endpoint, such as one for /health; null for all others.
  std::unique_ptr<Exchange> AnswerPlain(const HttpRequest& head, const Visit& visit);
  // The answer of `answer`, or the error that it throws, with the headers that all answers have.
  std::unique_ptr<Exchange> Finish(const Visit& visit, const std::function<std::unique_ptr<Exchange>()>& answer);
  std::unique_ptr<Exchange> Health(bool is_stranger) const;
  std::unique_ptr<Exchange> WriteMetrics() const;
  // Whether there are keys, and the request has none that is right. A guess counts here as elsewhere.
  bool IsStranger(const HttpRequest& head, const Visit& visit);
  // The tenant lives as long as the visit's keys.
  Tenant& Authorize(const HttpRequest& head, const Visit& visit);
  void AuthorizeMetrics(const HttpRequest& head, const Visit& visit);
  // Thrown: 401 for a key that is missing or wrong; 429 if the client has sent too many wrong ones.
  void CheckKey(std::string_view key, std::optional<std::string_view> owner, const Visit& visit);
  std::unique_ptr<Exchange> Preflight() const;
  std::shared_ptr<Service> service() const {
    const std::lock_guard lock(mutex_);
    return service_;
  }

  // Counts an answer that is at its end, and tells of it.
  void Tell(const Visit& visit, const AnswerFacts& facts);
  std::shared_ptr<const AccessKeys> keys() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

  const RouterOptions options_;
  Spool& spool_;
  FailedKeys failed_keys_;
  FieldPolicy fields_;
  Metrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<Service> service_;        // guarded by mutex_; null while it loads
  std::shared_ptr<const AccessKeys> keys_;  // guarded by mutex_
  AnswerRoom room_;
  Preparation preparation_;  // whose threads use all of the above
};

// The body of an answer that no endpoint gives.
std::string PlainErrorBody(int status, std::string_view message);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ROUTER_H_
