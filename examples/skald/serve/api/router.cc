// SPDX-License-Identifier: Apache-2.0

#include "serve/api/router.h"

#include <algorithm>
#include <new>
#include <utility>

#include "serve/api/anthropic/form.h"
#include "serve/api/endpoints.h"
#include "serve/api/openai/form.h"
#include "serve/page/page_files.h"

namespace skald::serve {
namespace {

struct Endpoint {
  std::string_view method;
  std::string_view path;  // {} stands for what is between two slashes, or for the rest
  Answer (*answer)(const Call&);
};

constexpr Endpoint kEndpoints[] = {
    {"GET", "/v1/models", ListModels},
    {"GET", "/v1/models/{}", ShowModel},
    {"POST", "/v1/chat/completions", ChatCompletions},
    {"POST", "/v1/completions", Completions},
    {"POST", "/v1/responses", Responses},
    {"POST", "/v1/embeddings", Embeddings},
    {"POST", "/v1/messages", Messages},
    {"POST", "/v1/messages/count_tokens", CountTokens},
    {"POST", "/tokenize", Tokenize},
    {"POST", "/detokenize", Detokenize},
    {"GET", "/v1/conversations", ListConversations},
    {"POST", "/v1/conversations", CreateConversation},
    {"POST", "/v1/conversations/import", ImportConversation},
    {"GET", "/v1/conversations/{}", ShowConversation},
    {"POST", "/v1/conversations/{}", ChangeConversation},
    {"DELETE", "/v1/conversations/{}", DeleteConversation},
    {"POST", "/v1/conversations/{}/fork", ForkConversation},
    {"POST", "/v1/conversations/{}/rewind", RewindConversation},
    {"GET", "/v1/conversations/{}/state", ExportConversation},
};

// Whether a path is that of an endpoint; then `parameter` is what stands for {}.
bool Matches(std::string_view pattern, std::string_view path, std::string& parameter) {
  const size_t brace = pattern.find("{}");
  if (brace == pattern.npos) return pattern == path;
  const std::string_view behind = pattern.substr(brace + 2);
  if (!path.starts_with(pattern.substr(0, brace)) || !path.ends_with(behind)) return false;
  if (path.size() <= brace + behind.size()) return false;
  const std::string_view middle = path.substr(brace, path.size() - brace - behind.size());
  if (middle.find('/') != middle.npos && !pattern.starts_with("/v1/models")) return false;
  parameter = middle;
  return true;
}

bool IsGet(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

Answer ErrorAnswer(std::string_view path, const ApiError& error) {
  HttpHead head = {error.status};
  if (error.status == 401) head.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) head.headers.emplace_back("Retry-After", "1");
  if (error.status == 405) head.headers.emplace_back("Allow", error.allowed);
  const Json json = path.starts_with("/v1/messages") ? AnthropicErrorJson(error) : OpenAiErrorJson(error);
  return std::make_unique<WholeAnswer>(Dump(json), std::move(head));
}

// What `answer` returns, or the error that it throws, in the manner of the API at `path`.
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

// The origin that a page of this server has, by the name that the client called it.
bool IsOwnOrigin(const HttpRequest& request, std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme != origin.npos && origin.substr(scheme + 3) == request.Header("host");
}

// Adds headers to an answer that somebody else gives.
class WithHeaders final : public Exchange {
 public:
  WithHeaders(std::unique_ptr<Exchange> inner, HeaderList headers, std::function<void(int)> on_head)
      : inner_(std::move(inner)), headers_(std::move(headers)), on_head_(std::move(on_head)) {}

  HttpPiece Next() override {
    HttpPiece piece = inner_->Next();
    if (!piece.head) return piece;
    on_head_(piece.head->status);
    piece.head->headers.insert(piece.head->headers.end(), headers_.begin(), headers_.end());
    return piece;
  }

 private:
  const std::unique_ptr<Exchange> inner_;
  const HeaderList headers_;
  const std::function<void(int)> on_head_;
};

}  // namespace

std::string PlainErrorBody(int status, std::string_view message) {
  return Dump(OpenAiErrorJson({status, std::string(message)}));
}

std::unique_ptr<Exchange> Router::Handle(HttpRequest request, Wake wake) {
  try {
    // The process answers, whatever else is locked or stuck.
    if (request.path == "/live" && IsGet(request)) return std::make_unique<WholeAnswer>("{\"status\":\"ok\"}");
    std::string path = "other";  // for counts, which must not grow with whatever clients ask for
    HeaderList headers = {{"X-Content-Type-Options", "nosniff"}};
    if (const std::string_view origin = request.Header("origin"); !origin.empty() && !IsOwnOrigin(request, origin)) {
      if (MayUse(request)) headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
      headers.emplace_back("Vary", "Origin");
    }
    const std::string called = request.path;
    auto answer = AnswerOrError(called, [&] { return Route(request, wake, path); });
    return std::make_unique<WithHeaders>(std::move(answer), std::move(headers),
                                         [this, path](int status) { metrics_.CountRequest(path, status); });
  } catch (...) {
    return std::make_unique<WholeAnswer>(std::string(), HttpHead{500});
  }
}

std::unique_ptr<Exchange> Router::Route(HttpRequest& request, const Wake& wake, std::string& path) {
  if (!MayUse(request)) {
    throw ApiError{403, "pages of other servers may not use this one; 'skald serve --cors ORIGIN' allows it"};
  }
  if (request.method == "OPTIONS") return Preflight();
  const bool is_get = IsGet(request);
  if (is_get && request.path == "/health") return Health();
  if (is_get && request.path == "/metrics") return WriteMetrics();
  if (const PageFile* const file = FindPageFile(request.path); is_get && file != nullptr) return AnswerWith(*file);
  std::string parameter, allowed;
  for (const Endpoint& endpoint : kEndpoints) {
    std::string found;
    if (!Matches(endpoint.path, request.path, found)) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(endpoint.method);
    if (endpoint.method != request.method && !(endpoint.method == "GET" && is_get)) continue;
    path = endpoint.path;
    Tenant& tenant = Authorize(request);
    const auto service = this->service();
    if (service == nullptr) throw ApiError{503, "the model is being loaded"};
    const auto prepare = [this, &endpoint, &tenant, service, found](const HttpRequest& whole, const Wake& wake_whole,
                                                                    const std::function<bool()>& is_abandoned) {
      return AnswerOrError(whole.path, [&] {
        return endpoint.answer({whole, wake_whole, service, metrics_, tenant, room_, found, is_abandoned});
      });
    };
    return preparation_.Begin(tenant.name, std::move(request), wake, prepare);
  }
  if (!allowed.empty())
    throw ApiError{405, request.path + " takes " + allowed + ", not " + request.method, {}, {}, allowed};
  throw ApiError{404, "there is nothing at " + request.path.substr(0, 256)};
}

// Requests of scripts say whose page they are of.
bool Router::MayUse(const HttpRequest& request) const {
  const std::string_view origin = request.Header("origin");
  if (origin.empty() || IsOwnOrigin(request, origin)) return true;
  return std::ranges::any_of(options_.origins, [&](const std::string& one) { return one == "*" || one == origin; });
}

std::unique_ptr<Exchange> Router::Preflight() const {
  HttpHead head = {204, "text/plain"};
  head.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                  {"Access-Control-Allow-Headers", "*, Authorization"},
                  {"Access-Control-Max-Age", "3600"}};
  return std::make_unique<WholeAnswer>(std::string(), std::move(head));
}

Tenant& Router::Authorize(const HttpRequest& request) const {
  if (!tenants_.has_keys()) return *tenants_.Everybody();
  std::string_view key = request.Header("authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (key.starts_with(kBearer)) {
    key.remove_prefix(kBearer.size());
  } else {
    key = request.Header("x-api-key");
  }
  if (Tenant* const tenant = tenants_.Find(key)) return *tenant;
  throw ApiError{401,
                 key.empty() ? "there is no API key in the request; send it as 'Authorization: Bearer KEY'"
                             : "this API key is not known here",
                 {},
                 "invalid_api_key"};
}

// Stores are told of, and never a reason to fail: what they hold is computed where they do not answer.
std::unique_ptr<Exchange> Router::Health() const {
  const auto service = this->service();
  if (service == nullptr) return std::make_unique<WholeAnswer>("{\"status\":\"loading\"}", HttpHead{503});
  const LoopHealth engine = service->health();
  const bool is_stalled = engine.stalled_seconds > options_.stall_seconds;
  Json health = {{"status", engine.failure ? "failing"
                            : is_stalled   ? "stalled"
                                           : "ok"},
                 {"model", service->model().name},
                 {"engine", {{"stalled_seconds", engine.stalled_seconds}}}};
  if (engine.failure) health["engine"]["error"] = engine.failure->message;
  const BackgroundStats writes = service->writes(), reads = service->reads();
  health["stores"] = {
      {"writes_waiting", writes.tasks}, {"writes_dropped", writes.dropped}, {"reads_waiting", reads.tasks}};
  std::map<std::string, bool> answers;
  if (options_.more_stores) options_.more_stores(answers);
  for (const auto& [store, does_answer] : answers) health["stores"][store] = does_answer ? "up" : "down";
  return std::make_unique<WholeAnswer>(Dump(health), HttpHead{is_stalled || engine.failure ? 503 : 200});
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
