// SPDX-License-Identifier: Apache-2.0
//
// The place of a request in a trace that goes through several programs: W3C Trace Context (w3.org/TR/trace-context).

#ifndef SKALD_EXAMPLES_SERVER_API_LOG_TRACE_CONTEXT_H_
#define SKALD_EXAMPLES_SERVER_API_LOG_TRACE_CONTEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace skald::serve {

struct TraceContext {
  std::string trace_id = {};   // 32 digits of base 16, in lower case
  std::string span_id = {};    // 16 digits: of what this server does
  std::string parent_id = {};  // of the client's span; empty if it named none
  uint8_t flags = 1;           // bit 0: the trace is recorded
};

// A new span in the trace that a header `traceparent` names; in a new trace if it is empty or not valid.
TraceContext TraceContextOf(std::string_view traceparent);

// The header `traceresponse`, which tells the client of the span.
std::string TraceResponseOf(const TraceContext& context);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LOG_TRACE_CONTEXT_H_
