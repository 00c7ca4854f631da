// SPDX-License-Identifier: Apache-2.0
//
// Errors in the form of Anthropic's API.

#ifndef SKALD_EXAMPLES_SERVER_API_ANTHROPIC_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_ANTHROPIC_FORM_H_

#include "server/api/request/api_error.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

inline Json AnthropicErrorJson(const ApiError& error) {
  const char* const type = error.status == 401   ? "authentication_error"
                           : error.status == 403 ? "permission_error"
                           : error.status == 404 ? "not_found_error"
                           : error.status == 413 ? "request_too_large"
                           : error.status == 429 ? "rate_limit_error"
                           : error.status == 503 ? "overloaded_error"
                           : error.status < 500  ? "invalid_request_error"
                                                 : "api_error";
  return {{"type", "error"}, {"error", {{"type", type}, {"message", error.message}}}};
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANTHROPIC_FORM_H_
