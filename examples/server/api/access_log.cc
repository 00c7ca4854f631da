// SPDX-License-Identifier: Apache-2.0

#include "server/api/access_log.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "server/api/request/json_reader.h"

namespace skald::serve {
namespace {

// A word of a line: what clients send may have any bytes.
std::string Word(std::string_view text) {
  constexpr size_t kMostBytes = 256;
  std::string word(text.substr(0, kMostBytes));
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~'; }, '?');
  return word.empty() ? "-" : word;
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", seconds);
  return text;
}

}  // namespace

std::string TextLineOf(const AnsweredRequest& request) {
  std::string line = std::to_string(request.unix_time);
  for (const std::string& word :
       {Word(request.client), Word(request.tenant), Word(request.method), Word(request.path),
        std::to_string(request.status), std::to_string(request.bytes), Seconds(request.seconds), Word(request.id)}) {
    line += " " + word;
  }
  return request.is_whole ? line : line + " cut";
}

std::string JsonLineOf(const AnsweredRequest& request) {
  return Dump({{"time", request.unix_time},
               {"client", request.client},
               {"tenant", request.tenant},
               {"method", request.method},
               {"path", request.path.substr(0, 256)},
               {"status", request.status},
               {"bytes", request.bytes},
               {"seconds", request.seconds},
               {"request_id", request.id},
               {"is_whole", request.is_whole}});
}

}  // namespace skald::serve
