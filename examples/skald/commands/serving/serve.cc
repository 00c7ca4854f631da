// SPDX-License-Identifier: Apache-2.0

#include "commands/serving/serve.h"

#ifdef SKALD_HAS_SERVER

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/build_facts.h"
#include "commands/serving/serve_reload.h"
#include "conversation/drafting.h"
#include "served/served_models.h"
#include "server/api/log/server_log.h"
#include "server/api/router.h"
#include "server/http/http_server.h"
#include "server/http/limits/descriptors.h"
#include "server/http/limits/network.h"
#include "server/http/spool.h"
#include "server/service/service.h"
#include "server/service/state/state_lock.h"
#include "simd.h"
#include "skald/base/files/small_file.h"
#include "skald/store/backends/authenticated_store.h"
#include "skald/store/backends/directory_store.h"
#ifdef SKALD_HAS_REDIS
#include "server/service/redis_link.h"
#include "skald/store/backends/redis_url.h"
#endif
#include "terminal/interrupt.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

// Where prompts outlive the process, as the options say.
struct Stores {
  std::optional<serve::StateLock> lock;
  std::unique_ptr<DirectoryStore> folder;
#ifdef SKALD_HAS_REDIS
  std::unique_ptr<serve::RedisLink> redis;
#endif
  std::vector<std::unique_ptr<AuthenticatedStore>> authenticated;
  std::vector<ChunkStoreRef> all;
};

// The content of a file that holds a secret, without the end of its line.
Result<std::string> ReadSecret(const char* option, const std::filesystem::path& path) {
  constexpr uint64_t kMostBytes = 1 << 16;
  auto text = ReadSmallFile(path, kMostBytes);
  if (!text) return Annotate(option, text);
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (text->empty()) return Fail(ErrorCode::kInvalidArgument, std::string(option) + ": " + path.string() + " is empty");
  return text;
}

#ifdef SKALD_HAS_REDIS
Result<void> OpenRedis(const ServeOptions& options, Stores& stores) {
  auto redis = ParseRedisAddress(options.redis);
  if (!redis) return Annotate("--redis", redis);
  if (!options.redis_password.empty()) {
    SKALD_ASSIGN(auto password, ReadSecret("--redis-password-file", options.redis_password));
    redis->password = std::move(password);
  }
  if (!redis->user.empty() && redis->password.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--redis: the user has no password; --redis-password-file names its file");
  }
  const bool has_tls_files = !options.redis_ca.empty() || !options.redis_certificate.empty();
  if (has_tls_files && !redis->tls.is_used) {
    return Fail(ErrorCode::kInvalidArgument, "--redis-ca and --redis-certificate are for rediss://, which speaks TLS");
  }
  redis->tls.ca_file = options.redis_ca;
  redis->tls.certificate = options.redis_certificate;
  redis->tls.private_key = options.redis_private_key;
  redis->connect_timeout = std::chrono::milliseconds(500);
  redis->answer_timeout = std::chrono::milliseconds(2000);
  redis->call_timeout = std::chrono::milliseconds(5000);
  stores.redis = std::make_unique<serve::RedisLink>(*redis, [](const std::string& message) { Warn(message); });
  stores.all.emplace_back(*stores.redis);
  return {};
}
#else
Result<void> OpenRedis(const ServeOptions&, Stores&) {
  return Fail(ErrorCode::kUnsupported, "--redis: this program was built without hiredis");
}
#endif

// From now on nothing that stores hold is used unless it was written with this key.
Result<void> Authenticate(const std::filesystem::path& key_file, Stores& stores) {
  SKALD_ASSIGN(const auto secret, ReadSecret("--store-key-file", key_file));
  for (ChunkStoreRef& store : stores.all) {
    auto made = AuthenticatedStore::Create(store, secret);
    if (!made) return Annotate("--store-key-file " + key_file.string(), made);
    stores.authenticated.push_back(*std::move(made));
    store = ChunkStoreRef(*stores.authenticated.back());
  }
  return {};
}

Result<void> OpenStores(const Options& options, Stores& stores) {
  const ServeOptions& serve = options.serve;
  if (!serve.state.empty()) {
    SKALD_ASSIGN(auto lock, serve::StateLock::Take(serve.state));
    stores.lock.emplace(std::move(lock));
  }
  if (options.prompt_cache || !serve.state.empty()) {
    SKALD_ASSIGN(auto folder, DirectoryStore::Open(options.prompt_cache.value_or(serve.state / "prompts"),
                                                   {.max_bytes = serve.state_bytes}));
    stores.folder = std::move(folder);
    stores.all.emplace_back(*stores.folder);
  }
  if (!serve.redis.empty()) {
    SKALD_TRY(OpenRedis(serve, stores));
  }
  return serve.store_key.empty() ? Result<void>() : Authenticate(serve.store_key, stores);
}

serve::ConversationLimits LimitsOf(const ServeOptions& options, std::optional<uint64_t> bytes, uint64_t seconds) {
  constexpr uint64_t kInMemory = 100'000'000, kInFolder = 1'000'000'000;
  serve::ConversationLimits limits;
  limits.bytes = bytes.value_or(options.state.empty() ? kInMemory : kInFolder);
  if (seconds > 0) limits.age = std::chrono::seconds(seconds);
  return limits;
}

Result<std::shared_ptr<serve::Service>> StartService(const Options& options, const Stores& stores) {
  SKALD_ASSIGN(auto models, StartModels(options, stores.all));
  serve::ServiceOptions service;
  service.most_running = options.serve.users;
  if (!options.serve.state.empty()) service.conversations = options.serve.state / "conversations";
  service.conversation_limits =
      LimitsOf(options.serve, options.serve.conversation_bytes, options.serve.conversation_seconds);
  service.response_limits = LimitsOf(options.serve, options.serve.response_bytes, options.serve.response_seconds);
  service.response_limits.when_full = serve::ConversationLimits::WhenFull::kDropOldest;
  service.tell = [](const std::string& message) { Warn(message); };
  service.has_strict_names = options.serve.has_strict_names;
  service.aliases = {options.serve.aliases.begin(), options.serve.aliases.end()};
  service.system = options.system;
  if (options.chose_seed) service.seed = options.seed;
  SKALD_ASSIGN(auto started, serve::Service::Start(std::move(models), service));
  return std::shared_ptr<serve::Service>(std::move(started));
}

// Says how many tokens a conversation may have, and which option has more.
std::string ContextText(const serve::ModelAtWork& model, const Options& options) {
  const uint32_t context = model.context(), trained = model.facts.trained_context;
  const bool is_short = !options.max_context && context < trained;
  return std::to_string(context) + " tokens" +
         (is_short ? " of the model's " + std::to_string(trained) + ", for which --cache-bytes has no room"
                   : "; --max-context sets it");
}

// Names what guesses tokens for the first model; empty if nothing does.
std::string DraftText(const Options& options) {
  if (options.serve.prompt_lookup) return "; the text so far guesses tokens";
  return options.draft.any() ? "; " + DescribeDrafter(options.draft) : "";
}

// A line of the log on the models that are served.
std::string DescribeService(serve::Service& service, const Options& options, const std::string& url) {
  serve::Models& models = service.models();
  const std::vector<serve::ModelStatus> list = models.List();
  if (list.size() == 1 && list[0].model != nullptr) {
    return "serving " + list[0].name + " at " + url + " with a context of " + ContextText(*list[0].model, options) +
           DraftText(options);
  }
  std::string names;
  for (const serve::ModelStatus& one : list) names += (names.empty() ? "" : ", ") + one.name;
  return "serving " + std::to_string(list.size()) + " models at " + url +
         ", each loaded when it is asked for, within " + std::to_string(models.stats().limit / 1'000'000) +
         " MB: " + names + DraftText(options);
}

void WriteBuild(std::string& out) {
  serve::WriteInfo("skald_build_info", "The program, and the SIMD instructions that it computes with.",
                   std::vector<serve::MetricLabels>{{{"version", VersionText()},
                                                     {"commit", CommitText()},
                                                     {"compiler", CompilerText()},
                                                     {"simd_target", SimdTarget()}}},
                   out);
}

void WriteStoreMetrics(const Stores& stores, std::string& out) {
  uint64_t refused = 0;
  for (const auto& store : stores.authenticated) refused += store->refused();
  if (!stores.authenticated.empty()) {
    serve::WriteMetric("skald_store_refused_total", "counter", "Chunks in stores that were not written with our key.",
                       static_cast<double>(refused), out);
  }
#ifdef SKALD_HAS_REDIS
  if (stores.redis == nullptr) return;
  serve::WriteMetric("skald_redis_up", "gauge", "Whether Redis answers.", stores.redis->is_up(), out);
  serve::WriteMetric("skald_redis_errors_total", "counter", "Calls that Redis did not answer.",
                     static_cast<double>(stores.redis->errors()), out);
#endif
}

void TellOfRedis(const Stores& stores, std::map<std::string, bool>& answers) {
#ifdef SKALD_HAS_REDIS
  if (stores.redis != nullptr) answers["redis"] = stores.redis->is_up();
#else
  (void)stores, (void)answers;
#endif
}

serve::SiteOptions SiteOptionsOf(const ServeOptions& options) {
  serve::SiteOptions site;
  site.address = options.host;
  site.hosts = options.hosts;
  site.public_url = options.public_url;
  site.proxies = options.proxies;
  site.origins = options.origins;
  return site;
}

Result<serve::RouterOptions> RouterOptionsOf(const ServeOptions& options, const Stores& stores, serve::ServerLog& log) {
  serve::RouterOptions router;
  SKALD_ASSIGN(auto site, serve::Site::Make(SiteOptionsOf(options)));
  router.site = std::move(site);
  router.body_bytes = options.body_bytes;
  router.import_bytes = options.import_bytes;
  router.failed_keys = options.failed_keys;
  router.most_answers = uint64_t{options.users} + options.queue;
  router.more_metrics = [&stores](std::string& out) {
    WriteBuild(out);
    WriteStoreMetrics(stores, out);
  };
  router.stall_seconds = options.stall_seconds;
  router.has_strict_fields = options.has_strict_fields;
  router.on_answered = [&log](const serve::AnsweredRequest& request) { log.Tell(request); };
  router.on_audited = [&log](const serve::AuditedAct& act) { log.Tell(act); };
  router.tell = [](const std::string& message) { Note(message); };
  router.more_stores = [&stores](std::map<std::string, bool>& answers) { TellOfRedis(stores, answers); };
  return router;
}

// As many connections as the user wants, or as many as the system lets the process have.
size_t ConnectionsOf(const ServeOptions& options) {
  const serve::DescriptorLimits limits = serve::MakeRoomForConnections(options.connections);
  if (limits.connections < options.connections) {
    Warn("the process may have " + std::to_string(limits.descriptors) + " open files: there are " +
         std::to_string(limits.connections) + " connections instead of " + std::to_string(options.connections) +
         "; 'ulimit -n' or LimitNOFILE= raises that");
  }
  return limits.connections;
}

serve::HttpOptions HttpOptionsOf(const ServeOptions& options, serve::Spool& spool, const serve::Site& site) {
  serve::HttpOptions http;
  http.host = options.host;
  http.port = options.port;
  http.certificate = options.certificate;
  http.private_key = options.private_key;
  http.bodies_bytes = std::max(options.bodies_bytes, 2 * options.body_bytes);  // half of it for one client
  http.connections = ConnectionsOf(options);
  http.connections_of_client = options.connections_per_address.value_or(std::max<size_t>(http.connections / 4, 1));
  http.spool = &spool;
  http.is_proxy = [site](std::string_view address) { return site.IsProxy(address); };
  http.warn = [](const std::string& message) { Warn(message); };
  http.error_body = serve::PlainErrorBody;
  return http;
}

// Warns if the server listens to other machines than this one and asks for no keys.
void WarnOfStrangers(const ServeOptions& options) {
  const auto address = serve::ParseAddress(options.host);
  if (!options.api_keys.empty() || (address && address->is_loopback())) return;
  Warn("ANY CLIENT that reaches " + options.host +
       " may use this server, and read, change and delete all conversations: "
       "there are no --api-keys");
}

}  // namespace

Result<int> RunServe(const Options& options) {
  const ServeOptions& wanted = options.serve;
  SKALD_ASSIGN(auto keys, LoadKeys(wanted));
  SKALD_ASSIGN(const auto log, OpenLog(wanted));
  SKALD_TRY(CatchHangups(wanted));
  Stores stores;
  SKALD_TRY(OpenStores(options, stores));
  serve::Spool spool(wanted.state, wanted.import_bytes);  // outlives all that has files in it
  SKALD_ASSIGN(auto router_options, RouterOptionsOf(wanted, stores, *log));
  const serve::HttpOptions http = HttpOptionsOf(wanted, spool, router_options.site);
  serve::Router router(std::move(keys), std::move(router_options), spool);
  std::shared_ptr<serve::Service> service;  // outlives the server, whose answers use it
  WarnOfStrangers(wanted);
  SKALD_ASSIGN(const auto server, serve::HttpServer::Start(
                                      http, [&router](const serve::HttpRequest& head) { return router.Admit(head); }));
  const std::string url = std::string(wanted.certificate.empty() ? "http" : "https") + "://" + wanted.host + ":" +
                          std::to_string(server->port());
  if (!HasSeveralModels(options)) Note("listening at " + url + "; the model is being loaded");
  SKALD_ASSIGN(auto started, StartService(options, stores));
  service = std::move(started);
  SKALD_TRY(CatchSignals());
  router.SetService(service);
  Note(DescribeService(*service, options, url));
  log->Tell(serve::AuditedAct{.action = "start", .outcome = "done", .target = url});
  while (WaitForReload()) Reload(wanted, router, *server, *log);
  log->Tell(serve::AuditedAct{.action = "stop", .outcome = "done", .target = url});
  Note("ending: answers have " + std::to_string(wanted.grace_seconds) + " seconds");
  server->Stop(std::chrono::seconds(wanted.grace_seconds));
  bool is_idle = router.StopPreparing(std::chrono::milliseconds(100));
  is_idle &= service->models().Stop(std::chrono::milliseconds(100));
  // A thread in the middle of a long text, or of a load, cannot be told to end, and no client waits for it.
  if (!is_idle) std::_Exit(0);
  return 0;
}

}  // namespace skald::program

#else

namespace skald::program {

Result<int> RunServe(const Options&) {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without the server, which needs skald::store, Boost 1.75 or newer and OpenSSL");
}

}  // namespace skald::program

#endif  // SKALD_HAS_SERVER
