// SPDX-License-Identifier: Apache-2.0

#ifdef SKALD_HAS_SERVER

#include "commands/serving/serve_reload.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "terminal/interrupt.h"
#include "terminal/messages.h"

namespace skald::program {

Result<serve::AccessKeys> LoadKeys(const ServeOptions& options) {
  serve::AccessKeys keys;
  if (!options.api_keys.empty()) {
    SKALD_ASSIGN(auto tenants, serve::Tenants::Load(options.api_keys));
    keys.tenants = std::move(tenants);
  }
  if (!options.metrics_key.empty()) {
    const auto key = serve::SecretKey::Load(options.metrics_key);
    if (!key) return Annotate("--metrics-key", key);
    keys.metrics = *key;
  }
  return keys;
}

Result<std::unique_ptr<serve::ServerLog>> OpenLog(const ServeOptions& options) {
  return serve::ServerLog::Open({.has_requests = !options.log_format.empty(),
                                 .is_json = options.log_format == "json",
                                 .traces = options.trace_file,
                                 .warn = [](const std::string& message) { Warn(message); }});
}

Result<void> CatchHangups(const ServeOptions& options) {
  const bool has_files = !options.api_keys.empty() || !options.metrics_key.empty() || !options.certificate.empty() ||
                         !options.trace_file.empty();
  return has_files || isatty(STDIN_FILENO) == 0 ? CatchReloads() : Result<void>();
}

void Reload(const ServeOptions& options, serve::Router& router, serve::HttpServer& server, serve::ServerLog& log) {
  const auto tell = [&log](const std::string& target, const Result<void>& done) {
    log.Tell(serve::AuditedAct{.action = "reload", .outcome = done ? "done" : "failed", .target = target});
    if (!done) Warn(done.error().message + "; the " + target + " of before is kept");
  };
  if (!options.api_keys.empty() || !options.metrics_key.empty()) {
    auto keys = LoadKeys(options);
    const auto done = keys ? Result<void>() : Result<void>(Failure(keys.error()));
    if (keys) router.SetKeys(*std::move(keys));
    tell("keys", done);
  }
  if (!options.certificate.empty()) tell("certificate", server.ReloadCertificate());
  if (log.has_traces()) tell("traces", log.Reopen());
}

}  // namespace skald::program

#endif  // SKALD_HAS_SERVER
