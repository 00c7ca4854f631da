// SPDX-License-Identifier: Apache-2.0
//
// ApiError: why a request is not answered. It is thrown where a request is read, caught in one place (api/router.cc),
// and written in the form of the API that was called.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_API_ERROR_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_API_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "skald/base/result.h"

namespace skald::serve {

struct ApiError {
  int status = 400;
  std::string message;
  std::optional<std::string> param = {};  // the field that is wrong, as "messages[1].content"
  std::optional<std::string> code = {};   // for programs, as "context_length_exceeded"
  std::string allowed = {};               // of 405: the methods that there are
  uint32_t retry_seconds = 1;             // of 429 and 503: when to try again
};

// That a prompt does not fit. Agents know these words of OpenAI's and Anthropic's errors, and shorten their chats.
inline ApiError PromptTooLong(uint64_t tokens, uint64_t most, std::optional<std::string> param = {}) {
  return {400,
          "prompt is too long: " + std::to_string(tokens) + " tokens > " + std::to_string(most) +
              " maximum, the maximum context length of this server ('skald serve --max-context')",
          std::move(param), "context_length_exceeded"};
}

// An error of the library, as a client is told of it.
inline ApiError ApiErrorOf(const Error& error) {
  switch (error.code) {
    case skald::ErrorCode::kInvalidArgument:
    case skald::ErrorCode::kUnsupported:
      return {400, error.message};
    case skald::ErrorCode::kOutOfRange:
      if (error.facts.needed_tokens && error.facts.available_tokens) {
        return PromptTooLong(*error.facts.needed_tokens, *error.facts.available_tokens);
      }
      return {400, error.message, {}, "context_length_exceeded"};
    case skald::ErrorCode::kNotFound:
      return {404, error.message};
    case skald::ErrorCode::kResourceExhausted:
    case skald::ErrorCode::kFailedPrecondition:
      return {503, error.message};
    default:
      return {500, error.message};
  }
}

// An error of loading a model. No request is at fault, whatever is wrong with its files.
inline ApiError ApiErrorOfModel(const Error& error) {
  const bool is_full = error.code == skald::ErrorCode::kResourceExhausted;
  const char* const code = is_full ? "out_of_memory" : "model_not_loaded";
  return {.status = is_full ? 507 : 503, .message = error.message, .param = "model", .code = code, .retry_seconds = 5};
}

// The value of `result`; its error is thrown.
template <class T>
T Take(Result<T> result, std::optional<std::string> param = {}) {
  if (result) return *std::move(result);
  ApiError error = ApiErrorOf(result.error());
  error.param = std::move(param);
  throw error;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_API_ERROR_H_
