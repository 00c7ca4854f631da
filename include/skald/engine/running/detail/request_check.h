// SPDX-License-Identifier: Apache-2.0
//
// Refuses requests that cannot be computed, before they are taken. Pure.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_REQUEST_CHECK_H_
#define SKALD_ENGINE_RUNNING_DETAIL_REQUEST_CHECK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/engine/requests/request.h"
#include "skald/sampling/settings.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

struct RequestLimits {
  int32_t vocab_size;
  uint32_t capacity;  // tokens, prompt and answer
  bool has_tokenizer;
  std::span<const Adapter* const> adapters;
};

// Samples of one request.
inline constexpr uint32_t kMaxSamples = 1024;

namespace internal {

inline Result<void> CheckPrompt(const Request& request, const RequestLimits& limits) {
  const auto refuse = [](const std::string& what) { return Fail(ErrorCode::kInvalidArgument, "Request::" + what); };
  if (request.prompt.empty()) return refuse("prompt has no tokens, expected at least 1");
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (request.prompt[i] >= 0 && request.prompt[i] < limits.vocab_size) continue;
    return refuse("prompt: token " + std::to_string(i) + " has the id " + std::to_string(request.prompt[i]) +
                  ", expected 0 to " + std::to_string(limits.vocab_size - 1));
  }
  if (!std::ranges::is_sorted(request.branch_points) ||
      (!request.branch_points.empty() && request.branch_points.back() > request.prompt.size())) {
    return refuse("branch_points are not ascending positions in a prompt of " + std::to_string(request.prompt.size()) +
                  " tokens");
  }
  return {};
}

}  // namespace internal

// Errors: kInvalidArgument, naming the member; kOutOfRange for what can never fit.
inline Result<void> CheckRequest(const Request& request, const RequestLimits& limits) {
  const auto refuse = [](const std::string& what) { return Fail(ErrorCode::kInvalidArgument, "Request::" + what); };
  SKALD_TRY(internal::CheckPrompt(request, limits));
  if (auto valid = ValidateSettings(request.sampler, static_cast<size_t>(limits.vocab_size)); !valid) {
    return Annotate("Request::sampler", valid);
  }
  if (request.samples == 0 || request.samples > kMaxSamples) {
    return refuse("samples is " + std::to_string(request.samples) + ", expected 1 to " + std::to_string(kMaxSamples));
  }
  if (request.embedding && request.samples != 1)
    return refuse("embedding is of the prompt, of which there is 1 sample");
  if (request.max_tokens == 0u) return refuse("max_tokens is 0, expected at least 1");
  if (std::ranges::any_of(request.stop_strings, &std::string::empty)) {
    return refuse("stop_strings has an empty string, which stands everywhere");
  }
  if (!request.stop_strings.empty() && !limits.has_tokenizer) {
    return refuse("stop_strings need EngineOptions::tokenizer");
  }
  if (request.deadline && std::isnan(*request.deadline)) return refuse("deadline is not a number");
  const auto is_it = [&](const Adapter* adapter) { return adapter != nullptr && adapter->digest == request.adapter; };
  if (request.adapter != Sha256Digest{} && std::ranges::none_of(limits.adapters, is_it)) {
    return refuse("adapter is " + ShortHex(request.adapter) + ", which is not among EngineOptions::adapters");
  }
  // The last token that is drawn need not be computed.
  const uint32_t answer = request.embedding ? 1 : request.max_tokens.value_or(1);
  const uint64_t needed = request.prompt.size() + uint64_t{answer} - 1;
  if (needed <= limits.capacity) return {};
  return Fail(ErrorCode::kOutOfRange,
              "the request is for " + std::to_string(request.prompt.size()) + " tokens of prompt and " +
                  std::to_string(answer) + " of answer; a conversation may have " + std::to_string(limits.capacity) +
                  " in this pool",
              {.needed_tokens = needed, .available_tokens = limits.capacity});
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_REQUEST_CHECK_H_
