// SPDX-License-Identifier: Apache-2.0
//
// One line for each request that was answered, without anything of what it said.

#ifndef SKALD_EXAMPLES_SERVER_API_ACCESS_LOG_H_
#define SKALD_EXAMPLES_SERVER_API_ACCESS_LOG_H_

#include <cstdint>
#include <string>

namespace skald::serve {

struct AnsweredRequest {
  std::string id;              // as the answer's x-request-id
  std::string method, path;    // the path without the prefix of the public URL
  std::string client, tenant;  // an address or network; the name of the key, empty without keys
  int status = 0;
  uint64_t bytes = 0;     // of the answer's body
  double seconds = 0;     // from the request's head to the answer's end
  bool is_whole = true;   // else the client left before the end
  int64_t unix_time = 0;  // of the end
};

// TIME CLIENT TENANT METHOD PATH STATUS BYTES SECONDS ID, with - for what is empty, and "cut" at the end if it is not
// whole. No end of line.
std::string TextLineOf(const AnsweredRequest& request);

// An object of JSON. No end of line.
std::string JsonLineOf(const AnsweredRequest& request);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ACCESS_LOG_H_
