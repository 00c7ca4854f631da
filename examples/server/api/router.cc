// SPDX-License-Identifier: Apache-2.0

#include "server/api/router.h"

#include <algorithm>
#include <cctype>
#include <new>
#include <utility>

#include "server/api/anthropic/form.h"
#include "server/api/encoders/form.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/form.h"
#include "server/api/ollama/form.h"
#include "server/api/openai/form.h"
#include "server/api/routing/endpoint_table.h"
#include "server/http/request_head.h"
#include "server/page/page_files.h"

namespace skald::serve {
namespace {

bool IsGet(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

// In the form of the API at `path`.
Json ErrorJson(std::string_view path, const ApiError& error) {
  if (path.starts_with("/v1/messages")) return AnthropicErrorJson(error);
  if (path.starts_with("/api/")) return OllamaErrorJson(error);
  for (const std::string_view other : {"/completion", "/infill", "/props", "/slots", "/apply-template", "/embedding"}) {
    if (path == other) return LlamaCppErrorJson(error);
  }
  for (const std::string_view other : {"/embed", "/embed_all", "/similarity", "/rerank"}) {
    if (path == other) return TeiErrorJson(error);
  }
  if (path.ends_with("/rerank") || path == "/v2/embed") return RerankErrorJson(error);
  return OpenAiErrorJson(error);
}

Answer ErrorAnswer(std::string_view path, const ApiError& error) {
  HttpHead head = {error.status};
  if (error.status == 401) head.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) {
    head.headers.emplace_back("Retry-After", std::to_string(error.retry_seconds));
  }
  if (error.status == 405) head.headers.emplace_back("Allow", error.allowed);
  return std::make_unique<WholeAnswer>(Dump(ErrorJson(path, error)), std::move(head));
}

// Returns the answer of `answer`, or the error that it throws in the form of the API at `path`.
template <class Function>
Answer AnswerOrError(std::string_view path, const Function& answer) {
  try {
    try {
      return answer();
    } catch (const ApiError& error) {
      return ErrorAnswer(path, error);
    } catch (const std::exception& error) {
      return ErrorAnswer(path, {500, error.what()});
    }
  } catch (...) {
    return std::make_unique<WholeAnswer>(std::string(), HttpHead{500});
  }
}

// The key that a request has, or an empty text.
std::string_view KeyOf(const HttpRequest& head) {
  constexpr std::string_view kBearer = "bearer ";
  std::string_view key = head.Header("authorization");
  if (!SameButCase(key.substr(0, kBearer.size()), kBearer)) return head.Header("x-api-key");
  key.remove_prefix(std::min(key.find_first_not_of(' ', kBearer.size()), key.size()));
  return key;
}

// Returns the answer, or null where it waits for a model: `again` is called when the model is there, or an error, and
// `held` has either then.
Answer AnswerWhenLoaded(const Endpoint& endpoint, const Call& call, const std::shared_ptr<HeldModel>& held,
                        const std::function<void()>& again) {
  ModelWanted wanted;
  try {
    return endpoint.answer(call);
  } catch (const ModelWanted& model) {
    wanted = model;
  }
  call.StopIfAbandoned();
  const auto then = [held, again](HeldModel model) {
    *held = std::move(model);
    again();
  };
  if (const auto begun = call.service->models().Load(wanted.name, then, wanted.tries_again); !begun) {
    throw ApiErrorOfModel(begun.error());
  }
  return nullptr;
}

// Of all models that are loaded: the worst, and sums.
struct EngineHealth {
  double stalled_seconds = 0.0;
  std::optional<std::string> error = {};
  uint64_t writes_waiting = 0, writes_dropped = 0, reads_waiting = 0;  // of stores
};

EngineHealth HealthOf(const std::vector<ModelStatus>& models) {
  EngineHealth all;
  for (const ModelStatus& one : models) {
    if (one.model == nullptr || one.model->service == nullptr) continue;
    const LoopHealth engine = one.model->service->health();
    const ModelServiceStats stats = one.model->service->stats();
    all.stalled_seconds = std::max(all.stalled_seconds, engine.stalled_seconds);
    if (engine.failure && !all.error) all.error = engine.failure->message;
    all.writes_waiting += stats.writes.tasks;
    all.writes_dropped += stats.writes.dropped;
    all.reads_waiting += stats.reads.tasks;
  }
  return all;
}

// The client's own name for a request, if it is one, else a new one.
std::string RequestIdOf(const HttpRequest& head) {
  constexpr size_t kMostBytes = 128;
  const std::string_view given = head.Header("x-request-id");
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == ':';
  };
  const bool is_id = !given.empty() && given.size() <= kMostBytes && std::ranges::all_of(given, is_plain);
  return is_id ? std::string(given) : NewId("req");
}

std::chrono::nanoseconds UnixTime() { return std::chrono::system_clock::now().time_since_epoch(); }

std::optional<std::string_view> OwnerOf(const Tenant* tenant) {
  return tenant == nullptr ? std::nullopt : std::optional<std::string_view>(tenant->name);
}

// Names the metrics' key among the names of tenants, none of which has a space.
constexpr std::string_view kMetricsOwner = "the metrics' key";

}  // namespace

std::string PlainErrorBody(int status, std::string_view message) {
  return Dump(OpenAiErrorJson({status, std::string(message)}));
}

// The facts of a request, kept for as long as it is answered.
struct Router::Visit {
  Caller caller = {};
  HeaderList headers = {{"X-Content-Type-Options", "nosniff"}};
  std::string counted_as = "other";  // a path, or none; counts must not grow with whatever clients ask for
  std::string id, method, tenant;
  std::string target = {};                      // the texts in the path's places of {}
  std::shared_ptr<const AccessKeys> keys = {};  // that were valid when it came
  TraceContext trace = {};
  std::chrono::nanoseconds begun = UnixTime();
  std::chrono::steady_clock::time_point begun_steadily = std::chrono::steady_clock::now();
};

Admission Router::Admit(const HttpRequest& head) {
  Admission admission;
  try {
    const auto visit = std::make_shared<Visit>();
    visit->caller.path = head.path;
    visit->method = head.method;
    visit->id = RequestIdOf(head);
    visit->keys = keys();
    const std::string_view parent = head.CountOf("traceparent") == 1 ? head.Header("traceparent") : std::string_view();
    visit->trace = TraceContextOf(parent);
    if (!visit->trace.parent_id.empty()) visit->headers.emplace_back("traceresponse", TraceResponseOf(visit->trace));
    // Anthropic's clients look for the shorter name.
    visit->headers.emplace_back("x-request-id", visit->id);
    visit->headers.emplace_back("request-id", visit->id);
    std::unique_ptr<Exchange> answer;
    bool needs_body = false;
    answer = Finish(*visit, [&] {
      auto known = Route(head, visit, admission);
      needs_body = known == nullptr;
      return known;
    });
    if (!needs_body) admission.answer = std::move(answer);
    admission.refuse = [this, visit](int status, const std::string& message) {
      return Finish(*visit, [&]() -> std::unique_ptr<Exchange> { throw ApiError{status, message}; });
    };
  } catch (...) {  // there is no memory
    admission.answer = std::make_unique<WholeAnswer>(std::string(), HttpHead{500});
  }
  return admission;
}

std::unique_ptr<Exchange> Router::Finish(const Visit& visit, const std::function<std::unique_ptr<Exchange>()>& answer) {
  try {
    auto inner = AnswerOrError(visit.caller.path, answer);
    if (inner == nullptr) return nullptr;
    const auto on_head = [this, path = visit.counted_as](int status) {
      if (!path.empty()) metrics_.CountRequest(path, status);
    };
    const auto on_end = [this, visit](const AnswerFacts& facts) {
      try {
        Tell(visit, facts);
      } catch (...) {  // there is no memory for the lines
      }
    };
    return std::make_unique<WithHeaders>(std::move(inner), visit.headers, on_head, on_end);
  } catch (...) {
    return std::make_unique<WholeAnswer>(std::string(), HttpHead{500});
  }
}

void Router::Tell(const Visit& visit, const AnswerFacts& facts) {
  const auto taken = std::chrono::steady_clock::now() - visit.begun_steadily;
  if (!visit.counted_as.empty()) {
    metrics_.CountTime(visit.counted_as, std::chrono::duration<double>(taken).count());
    if (visit.keys->tenants.has_keys() && !visit.tenant.empty()) metrics_.CountRequestOf(visit.tenant);
  }
  const AnsweredRequest request = {.id = visit.id,
                                   .method = visit.method,
                                   .path = visit.caller.path,
                                   .route = visit.counted_as,
                                   .client = visit.caller.client,
                                   .tenant = visit.tenant,
                                   .status = facts.status,
                                   .bytes = facts.bytes,
                                   .begun = visit.begun,
                                   .ended = visit.begun + taken,
                                   .is_whole = facts.is_whole,
                                   .trace = visit.trace};
  if (options_.on_answered) options_.on_answered(request);
  const std::string_view action = AuditedActionOf(visit.method, visit.counted_as);
  const std::string& target = facts.target.empty() ? visit.target : facts.target;
  if (options_.on_audited && !action.empty()) options_.on_audited(AuditedActOf(action, target, request));
}

std::unique_ptr<Exchange> Router::Route(const HttpRequest& head, const std::shared_ptr<Visit>& visit,
                                        Admission& admission) {
  visit->caller = options_.site.Look(head);
  visit->caller.path = PathOfEndpoint(std::move(visit->caller.path));
  const Caller& caller = visit->caller;
  if (!caller.origin.empty()) {
    if (caller.may_use) visit->headers.emplace_back("Access-Control-Allow-Origin", caller.origin);
    visit->headers.emplace_back("Vary", "Origin");
  }
  if (!caller.may_use) {
    throw ApiError{403, "pages of other servers may not use this one; 'skald serve --cors ORIGIN' allows it"};
  }
  // The process answers, whatever else is locked or stuck.
  if (caller.path == "/live") visit->counted_as.clear();
  if (auto plain = AnswerPlain(head, *visit)) return plain;
  std::string allowed;
  for (const Endpoint& endpoint : Endpoints()) {
    const auto parameters = MatchPath(endpoint, caller.path);
    if (!parameters) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(endpoint.method);
    if (endpoint.method != head.method && !(endpoint.method == "GET" && head.method == "HEAD")) continue;
    visit->counted_as = endpoint.path;
    visit->target = parameters->id + (parameters->item.empty() ? "" : "/" + parameters->item);
    Tenant& tenant = Authorize(head, *visit);
    visit->tenant = tenant.name;
    const auto service = this->service();
    if (service == nullptr) throw ApiError{503, "the model is being loaded"};
    admission.body = endpoint.body;
    admission.body_bytes = endpoint.body == Admission::Body::kInFile ? options_.import_bytes : options_.body_bytes;
    const auto held = std::make_shared<HeldModel>();
    const auto prepare = [this, visit, service, &endpoint, &tenant, parameters, held](
                             const HttpRequest& whole, const Wake& wake, const std::function<bool()>& is_abandoned,
                             const std::function<void()>& again) {
      Answer answer = AnswerOrError(visit->caller.path, [&] {
        return AnswerWhenLoaded(
            endpoint,
            {whole, wake, service, metrics_, tenant, room_, spool_, fields_, *held, *parameters, is_abandoned}, held,
            again);
      });
      if (answer != nullptr) *held = nullptr;  // an answer keeps what it needs
      return answer;
    };
    admission.begin = [this, visit, &tenant, prepare](HttpRequest request, const Wake& wake) {
      return Finish(*visit, [&] { return preparation_.Begin(tenant.name, std::move(request), wake, prepare); });
    };
    return nullptr;
  }
  if (!allowed.empty()) {
    throw ApiError{405, caller.path + " takes " + allowed + ", not " + head.method, {}, {}, allowed};
  }
  throw ApiError{404, "there is nothing at " + caller.path.substr(0, 256)};
}

std::unique_ptr<Exchange> Router::AnswerPlain(const HttpRequest& head, const Visit& visit) {
  if (head.method == "OPTIONS") return Preflight();
  const std::string& path = visit.caller.path;
  const bool is_get = IsGet(head);
  if (is_get && path == "/live") return std::make_unique<WholeAnswer>("{\"status\":\"ok\"}");
  if (is_get && path == "/health") return Health(IsStranger(head, visit));
  if (head.is_crowded)
    throw ApiError{503, "there are as many connections as this server takes, in all or of one client"};
  if (is_get && path == "/metrics") {
    AuthorizeMetrics(head, visit);
    return WriteMetrics();
  }
  // The page's addresses are relative to that of its folder.
  if (is_get && path.empty())
    return std::make_unique<WholeAnswer>("", HttpHead{308, "text/plain", {{"Location", head.path + "/"}}});
  const PageFile* const file = is_get ? FindPageFile(path) : nullptr;
  return file == nullptr ? nullptr : AnswerWith(*file, head);
}

std::unique_ptr<Exchange> Router::Preflight() const {
  HttpHead head = {204, "text/plain"};
  head.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                  {"Access-Control-Allow-Headers", "*, Authorization"},
                  {"Access-Control-Max-Age", "3600"}};
  return std::make_unique<WholeAnswer>(std::string(), std::move(head));
}

void Router::CheckKey(std::string_view key, std::optional<std::string_view> owner, const Visit& visit) {
  if (key.empty()) {
    throw ApiError{
        401, "there is no API key in the request; send it as 'Authorization: Bearer KEY'", {}, "invalid_api_key"};
  }
  if (!failed_keys_.Admit(visit.caller.client, owner, FailedKeys::Clock::now())) {
    throw ApiError{429, "too many wrong API keys came from this address; wait before the next one",
                   {},  "rate_limit_exceeded",
                   {},  failed_keys_.seconds_to_wait()};
  }
  if (!owner) throw ApiError{401, "this API key is not known here", {}, "invalid_api_key"};
}

bool Router::IsStranger(const HttpRequest& head, const Visit& visit) {
  const Tenants& tenants = visit.keys->tenants;
  if (!tenants.has_keys()) return false;
  const std::string_view key = KeyOf(head);
  const auto owner = OwnerOf(tenants.Find(key));
  return key.empty() || !failed_keys_.Admit(visit.caller.client, owner, FailedKeys::Clock::now()) || !owner;
}

Tenant& Router::Authorize(const HttpRequest& head, const Visit& visit) {
  const Tenants& tenants = visit.keys->tenants;
  if (!tenants.has_keys()) return *tenants.Everybody();
  const std::string_view key = KeyOf(head);
  Tenant* const tenant = tenants.Find(key);
  CheckKey(key, OwnerOf(tenant), visit);
  return *tenant;
}

void Router::AuthorizeMetrics(const HttpRequest& head, const Visit& visit) {
  const std::string_view key = KeyOf(head);
  const AccessKeys& keys = *visit.keys;
  if (keys.metrics) {
    const auto given = SecretKey::Of(key);
    CheckKey(key, given && keys.metrics->Is(*given) ? std::optional(kMetricsOwner) : std::nullopt, visit);
  } else if (keys.tenants.has_keys()) {
    CheckKey(key, OwnerOf(keys.tenants.Find(key)), visit);
  }
}

// Stores are told of, and never a reason to fail: what they hold is computed where they do not answer.
std::unique_ptr<Exchange> Router::Health(bool is_stranger) const {
  const auto service = this->service();
  if (service == nullptr) return std::make_unique<WholeAnswer>("{\"status\":\"loading\"}", HttpHead{503});
  const std::vector<ModelStatus> models = service->models().List();
  const EngineHealth engine = HealthOf(models);
  const bool is_stalled = engine.stalled_seconds > options_.stall_seconds;
  Json health = {{"status", engine.error ? "failing" : is_stalled ? "stalled" : "ok"}};
  const HttpHead head = {is_stalled || engine.error ? 503 : 200};
  if (is_stranger) return std::make_unique<WholeAnswer>(Dump(health), head);
  health["model"] = models[0].name;
  if (models.size() > 1) {
    for (const ModelStatus& one : models) health["models"][one.name] = StateName(one.state);
  }
  health["engine"] = {{"stalled_seconds", engine.stalled_seconds}};
  if (engine.error) health["engine"]["error"] = *engine.error;
  health["stores"] = {{"writes_waiting", engine.writes_waiting},
                      {"writes_dropped", engine.writes_dropped},
                      {"reads_waiting", engine.reads_waiting}};
  std::map<std::string, bool> answers;
  if (options_.more_stores) options_.more_stores(answers);
  for (const auto& [store, does_answer] : answers) health["stores"][store] = does_answer ? "up" : "down";
  return std::make_unique<WholeAnswer>(Dump(health), head);
}

std::unique_ptr<Exchange> Router::WriteMetrics() const {
  std::string text;
  metrics_.Write(text);
  WriteMetric("skald_requests_preparing", "gauge", "Requests that wait to be read and encoded, or are.",
              static_cast<double>(preparation_.size()), text);
  if (const auto service = this->service()) service->WriteMetrics(text);
  if (options_.more_metrics) options_.more_metrics(text);
  return std::make_unique<WholeAnswer>(std::move(text), HttpHead{200, "text/plain; version=0.0.4"});
}

}  // namespace skald::serve
