// SPDX-License-Identifier: Apache-2.0

#include "server/api/log/server_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "server/api/log/span.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

void WriteLine(std::string line) {
  line += "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

Result<std::unique_ptr<ServerLog>> ServerLog::Open(ServerLogOptions options) {
  return NoThrow("the log", [&]() -> Result<std::unique_ptr<ServerLog>> {
    std::unique_ptr<ServerLog> log(new ServerLog(std::move(options)));
    SKALD_TRY(log->Reopen());
    return log;
  });
}

Result<void> ServerLog::Reopen() {
  if (!has_traces()) return {};
  const char* const name = options_.traces.c_str();
  constexpr mode_t kMode = 0640;  // addresses of clients are in it
  internal::Descriptor fresh(
      internal::Uninterrupted([&] { return ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode); }));
  if (fresh.get() < 0) return internal::SystemFailure(options_.traces.string());
  const std::lock_guard lock(mutex_);
  traces_ = std::move(fresh);
  has_warned_ = false;
  return {};
}

void ServerLog::Tell(const AnsweredRequest& request) {
  if (options_.has_requests) WriteLine(options_.is_json ? JsonLineOf(request) : TextLineOf(request));
  if (has_traces()) WriteTrace(SpanLineOf(request) + "\n");
}

void ServerLog::Tell(const AuditedAct& act) const { WriteLine(options_.is_json ? JsonLineOf(act) : TextLineOf(act)); }

// One call writes the whole line, so that lines of several servers in one file do not mix.
void ServerLog::WriteTrace(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const auto written = internal::Uninterrupted([&] { return ::write(traces_.get(), line.data(), line.size()); });
  if (std::cmp_equal(written, line.size()) || std::exchange(has_warned_, true) || !options_.warn) return;
  options_.warn(options_.traces.string() + ": a trace could not be written; this is said once");
}

}  // namespace skald::serve
