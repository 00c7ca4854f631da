// SPDX-License-Identifier: Apache-2.0

#include "server/api/log/span.h"

#include <utility>

#include "server/api/request/json_reader.h"
#include "skald/base/version.h"

namespace skald::serve {
namespace {

constexpr int kServerSpan = 2, kErrorStatus = 2;

Json Attribute(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

// Numbers of 64 bits are texts in this form.
Json Attribute(const char* key, uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

std::string VersionText() {
  return std::to_string(SKALD_VERSION_MAJOR) + "." + std::to_string(SKALD_VERSION_MINOR) + "." +
         std::to_string(SKALD_VERSION_PATCH);
}

Json SpanOf(const AnsweredRequest& request) {
  Json span = {
      {"traceId", request.trace.trace_id},
      {"spanId", request.trace.span_id},
      {"flags", request.trace.flags},
      {"name", request.route == "other" ? request.route : request.method + " " + request.route},
      {"kind", kServerSpan},
      {"startTimeUnixNano", std::to_string(request.begun.count())},
      {"endTimeUnixNano", std::to_string(request.ended.count())},
      {"attributes",
       Json::array({Attribute("http.request.method", request.method), Attribute("http.route", request.route),
                    Attribute("http.response.status_code", static_cast<uint64_t>(request.status)),
                    Attribute("http.response.body.size", request.bytes), Attribute("client.address", request.client),
                    Attribute("skald.tenant", request.tenant), Attribute("skald.request_id", request.id)})}};
  if (!request.trace.parent_id.empty()) span["parentSpanId"] = request.trace.parent_id;
  if (request.status >= 500 || !request.is_whole) span["status"] = {{"code", kErrorStatus}};
  return span;
}

}  // namespace

std::string SpanLineOf(const AnsweredRequest& request) {
  const Json resource = {{"attributes", Json::array({Attribute("service.name", std::string("skald")),
                                                     Attribute("service.version", VersionText())})}};
  const Json scope = {{"scope", {{"name", "skald.server"}}}, {"spans", Json::array({SpanOf(request)})}};
  const Json spans = {{"resource", resource}, {"scopeSpans", Json::array({scope})}};
  return Dump({{"resourceSpans", Json::array({spans})}});
}

}  // namespace skald::serve
