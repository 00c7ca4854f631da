// SPDX-License-Identifier: Apache-2.0
//
// ServerLog: where lines about requests and acts go: the log, which is stderr, and a file of traces.

#ifndef SKALD_EXAMPLES_SERVER_API_LOG_SERVER_LOG_H_
#define SKALD_EXAMPLES_SERVER_API_LOG_SERVER_LOG_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "server/api/log/access_log.h"
#include "server/api/log/audit_log.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald::serve {

struct ServerLogOptions {
  bool has_requests = false;          // a line for each request
  bool is_json = false;               // else lines are texts
  std::filesystem::path traces = {};  // gets a line for each request (SpanLineOf); empty: none
  // Told once if lines of traces cannot be written.
  std::function<void(const std::string& message)> warn = {};
};

// Safe for concurrent calls.
class ServerLog {
 public:
  // Errors: the system's for the file of traces, which is made if it is not there, and is added to.
  static Result<std::unique_ptr<ServerLog>> Open(ServerLogOptions options);

  void Tell(const AnsweredRequest& request);
  void Tell(const AuditedAct& act) const;

  // Opens the file of traces anew, after it was moved away. Errors: the system's; then the old one goes on.
  Result<void> Reopen();

  bool has_traces() const { return !options_.traces.empty(); }

 private:
  explicit ServerLog(ServerLogOptions options) : options_(std::move(options)) {}

  void WriteTrace(const std::string& line);

  const ServerLogOptions options_;
  std::mutex mutex_;
  internal::Descriptor traces_;  // guarded by mutex_
  bool has_warned_ = false;      // guarded by mutex_
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LOG_SERVER_LOG_H_
