// SPDX-License-Identifier: Apache-2.0
//
// The rules for the head of every request, whatever it asks for: a target, one host, and a body whose end is beyond
// doubt (RFC 9112). If the end of a request were in doubt, its body could be read as another request.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_REQUEST_HEAD_H_
#define SKALD_EXAMPLES_SERVER_HTTP_REQUEST_HEAD_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace skald::serve {

struct HeadError {
  int status;
  std::string message;
};

// Takes a target apart: /PATH?QUERY, or http://HOST/PATH?QUERY, whose host then counts instead of the header's.
std::optional<HeadError> SetTarget(std::string_view target, HttpRequest& head);

// Whether the request's end and host are clear, and the body one that this server reads.
std::optional<HeadError> CheckHead(const HttpRequest& head);

// Whether texts are the same but for the case of letters of ASCII.
bool SameButCase(std::string_view a, std::string_view b);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_REQUEST_HEAD_H_
