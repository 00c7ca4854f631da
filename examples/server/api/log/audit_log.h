// SPDX-License-Identifier: Apache-2.0
//
// A line for each act of administration: it changes what the server holds or whose keys it takes.

#ifndef SKALD_EXAMPLES_SERVER_API_LOG_AUDIT_LOG_H_
#define SKALD_EXAMPLES_SERVER_API_LOG_AUDIT_LOG_H_

#include <string>
#include <string_view>

#include "server/api/log/access_log.h"

namespace skald::serve {

struct AuditedAct {
  std::string action;       // "start", "stop", "reload", "conversation.delete" and others
  std::string outcome;      // "done", "refused", "failed", or "cut" where the client left before the end
  std::string target = {};  // what it was done to: an id, a kind of file; may be empty
  std::string client = {}, tenant = {}, request_id = {};  // of the request, if one asked for it
};

// The act that a request of an endpoint asks for, or an empty text if none of its requests is one.
std::string_view AuditedActionOf(std::string_view method, std::string_view route);

// The act that a request asked for, with its outcome.
AuditedAct AuditedActOf(std::string_view action, std::string_view target, const AnsweredRequest& request);

// "TIME audit ACTION OUTCOME TARGET CLIENT TENANT ID", with - for what is empty. No end of line.
std::string TextLineOf(const AuditedAct& act);

// An object of JSON whose "kind" is "audit". No end of line.
std::string JsonLineOf(const AuditedAct& act);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LOG_AUDIT_LOG_H_
