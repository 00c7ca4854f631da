// SPDX-License-Identifier: Apache-2.0
//
// Versions of conversations in HTTP: ETag says which one an answer shows, and If-Match which one a change is meant for
// (RFC 9110, 8.8.3 and 13.1.1).

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_ENTITY_TAG_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_ENTITY_TAG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/request/api_error.h"
#include "server/http/exchange.h"
#include "server/service/state/conversation.h"

namespace skald::serve {

inline std::string EntityTagOf(const Conversation& conversation) {
  return "\"" + std::to_string(conversation.version) + "\"";
}

// Returns the version that a change is meant for, or nothing if the client does not name one. Thrown: 412 if
// `conversation` has another version by now.
inline std::optional<uint64_t> ReadIfMatch(const HttpRequest& request, const Conversation& conversation) {
  std::string_view tags = request.Header("if-match");
  if (tags.empty() || tags == "*") return std::nullopt;
  const std::string ours = EntityTagOf(conversation);
  while (!tags.empty()) {
    const size_t begin = tags.find_first_not_of(" \t,"), end = tags.find(',', std::min(begin, tags.size()));
    std::string_view tag = tags.substr(std::min(begin, tags.size()), end - begin);
    while (tag.ends_with(' ') || tag.ends_with('\t')) tag.remove_suffix(1);
    if (tag == ours) return conversation.version;
    tags.remove_prefix(std::min(end, tags.size()));
  }
  throw ApiError{
      412, "the conversation has version " + ours + " by now, not the one that If-Match names", {}, "version_mismatch"};
}

// The value of `result` of Conversations; its error is thrown, with the status that says whose fault it is.
template <class T>
T TakeKept(Result<T> result, std::optional<std::string> param = {}) {
  if (result) return *std::move(result);
  ApiError error = ApiErrorOf(result.error());
  if (result.error().code == skald::ErrorCode::kFailedPrecondition) error = {409, error.message, {}, "conflict"};
  if (result.error().code == skald::ErrorCode::kResourceExhausted) error = {507, error.message, {}, "storage_full"};
  error.param = std::move(param);
  throw error;
}
template <>
inline void TakeKept(Result<void> result, std::optional<std::string> param) {
  (void)TakeKept<bool>(result ? Result<bool>(true) : Result<bool>(Failure(result.error())), std::move(param));
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_ENTITY_TAG_H_
