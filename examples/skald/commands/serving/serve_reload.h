// SPDX-License-Identifier: Apache-2.0
//
// A server reads its keys and certificate again at SIGHUP, and opens its file of traces anew.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_RELOAD_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_RELOAD_H_

#include <memory>

#include "command_line/options.h"
#include "server/api/log/server_log.h"
#include "server/api/router.h"
#include "server/http/http_server.h"
#include "server/service/tenants.h"
#include "skald/base/result.h"

namespace skald::program {

Result<serve::AccessKeys> LoadKeys(const ServeOptions& options);

Result<std::unique_ptr<serve::ServerLog>> OpenLog(const ServeOptions& options);

// From now on SIGHUP asks to reload. A server that has nothing to read again, and runs at a terminal, ends with the
// terminal as other programs do.
Result<void> CatchHangups(const ServeOptions& options);

// Reads all again. A file that is wrong changes nothing, and is told in the log.
void Reload(const ServeOptions& options, serve::Router& router, serve::HttpServer& server, serve::ServerLog& log);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_RELOAD_H_
