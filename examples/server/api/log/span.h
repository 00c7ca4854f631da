// SPDX-License-Identifier: Apache-2.0
//
// A request as a span of OpenTelemetry: a line in the JSON form of its protocol, as its file exporter writes it
// (opentelemetry.io/docs/specs/otel/protocol/file-exporter), and as its collectors take it over HTTP.

#ifndef SKALD_EXAMPLES_SERVER_API_LOG_SPAN_H_
#define SKALD_EXAMPLES_SERVER_API_LOG_SPAN_H_

#include <string>

#include "server/api/log/access_log.h"

namespace skald::serve {

// One TracesData with one span. No end of line.
std::string SpanLineOf(const AnsweredRequest& request);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LOG_SPAN_H_
