// SPDX-License-Identifier: Apache-2.0

#include "server/api/log/audit_log.h"

#include "server/api/request/json_reader.h"
#include "server/service/state/conversation.h"

namespace skald::serve {
namespace {

struct AuditedEndpoint {
  std::string_view method, route, action;
};

constexpr AuditedEndpoint kAudited[] = {
    {"POST", "/v1/models/load", "model.load"},
    {"POST", "/v1/models/unload", "model.unload"},
    {"DELETE", "/v1/conversations/{}", "conversation.delete"},
    {"POST", "/v1/conversations/import", "conversation.import"},
    {"GET", "/v1/conversations/{}/state", "conversation.export"},
    {"DELETE", "/v1/conversations/{}/items/{}", "conversation.item.delete"},
    {"DELETE", "/v1/responses/{}", "response.delete"},
};

}  // namespace

std::string_view AuditedActionOf(std::string_view method, std::string_view route) {
  for (const AuditedEndpoint& endpoint : kAudited) {
    if (endpoint.method == method && endpoint.route == route) return endpoint.action;
  }
  return {};
}

AuditedAct AuditedActOf(std::string_view action, std::string_view target, const AnsweredRequest& request) {
  const bool has_answer = request.is_whole && request.status > 0;
  return {.action = std::string(action),
          .outcome = !has_answer            ? "cut"
                     : request.status < 400 ? "done"
                     : request.status < 500 ? "refused"
                                            : "failed",
          .target = std::string(target),
          .client = request.client,
          .tenant = request.tenant,
          .request_id = request.id};
}

std::string TextLineOf(const AuditedAct& act) {
  std::string line = std::to_string(UnixNow()) + " audit";
  for (const std::string* const word :
       {&act.action, &act.outcome, &act.target, &act.client, &act.tenant, &act.request_id}) {
    line += " " + LogWord(*word);
  }
  return line;
}

std::string JsonLineOf(const AuditedAct& act) {
  return Dump({{"kind", "audit"},
               {"time", UnixNow()},
               {"action", act.action},
               {"outcome", act.outcome},
               {"target", act.target.substr(0, 256)},
               {"client", act.client},
               {"tenant", act.tenant},
               {"request_id", act.request_id}});
}

}  // namespace skald::serve
