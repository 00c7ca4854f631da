// SPDX-License-Identifier: Apache-2.0

#include "server/api/log/access_log.h"

#include <algorithm>
#include <cstdio>

#include "server/api/request/json_reader.h"

namespace skald::serve {
namespace {

int64_t UnixSeconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", seconds);
  return text;
}

}  // namespace

std::string LogWord(std::string_view text) {
  constexpr size_t kMostBytes = 256;
  std::string word(text.substr(0, kMostBytes));
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~'; }, '?');
  return word.empty() ? "-" : word;
}

std::string TextLineOf(const AnsweredRequest& request) {
  std::string line = std::to_string(UnixSeconds(request.ended));
  for (const std::string& word : {LogWord(request.client), LogWord(request.tenant), LogWord(request.method),
                                  LogWord(request.path), std::to_string(request.status), std::to_string(request.bytes),
                                  Seconds(request.seconds()), LogWord(request.id)}) {
    line += " " + word;
  }
  return request.is_whole ? line : line + " cut";
}

std::string JsonLineOf(const AnsweredRequest& request) {
  Json line = {{"kind", "request"},
               {"time", UnixSeconds(request.ended)},
               {"client", request.client},
               {"tenant", request.tenant},
               {"method", request.method},
               {"path", request.path.substr(0, 256)},
               {"status", request.status},
               {"bytes", request.bytes},
               {"seconds", request.seconds()},
               {"request_id", request.id},
               {"is_whole", request.is_whole},
               {"trace_id", request.trace.trace_id},
               {"span_id", request.trace.span_id}};
  if (!request.trace.parent_id.empty()) line["parent_span_id"] = request.trace.parent_id;
  return Dump(line);
}

}  // namespace skald::serve
