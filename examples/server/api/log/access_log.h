// SPDX-License-Identifier: Apache-2.0
//
// One line for each request that was answered, without anything of what it said.

#ifndef SKALD_EXAMPLES_SERVER_API_LOG_ACCESS_LOG_H_
#define SKALD_EXAMPLES_SERVER_API_LOG_ACCESS_LOG_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/api/log/trace_context.h"

namespace skald::serve {

struct AnsweredRequest {
  std::string id;              // as the answer's x-request-id
  std::string method, path;    // the path without the prefix of the public URL
  std::string route;           // the path with {} in the place of its parameter; "other" if there is nothing at it
  std::string client, tenant;  // an address or network; the name of the key, empty without keys
  int status = 0;
  uint64_t bytes = 0;                               // of the answer's body
  std::chrono::nanoseconds begun = {}, ended = {};  // Unix time of the request's head and of the answer's end
  bool is_whole = true;                             // else the client left before the end
  TraceContext trace = {};

  double seconds() const { return std::chrono::duration<double>(ended - begun).count(); }
};

// A word of a line of text: what clients send may have any bytes.
std::string LogWord(std::string_view text);

// TIME CLIENT TENANT METHOD PATH STATUS BYTES SECONDS ID, with - for what is empty, and "cut" at the end if it is not
// whole. No end of line.
std::string TextLineOf(const AnsweredRequest& request);

// An object of JSON, with the ids of the trace and the span too. No end of line.
std::string JsonLineOf(const AnsweredRequest& request);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LOG_ACCESS_LOG_H_
