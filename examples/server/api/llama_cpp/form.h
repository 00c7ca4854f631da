// SPDX-License-Identifier: Apache-2.0
//
// The parts that answers of llama.cpp's server have in common
// (https://github.com/ggml-org/llama.cpp, tools/server/README.md).

#ifndef SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_FORM_H_

#include "server/api/answers/answer.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

inline Json LlamaCppErrorJson(const ApiError& error) {
  const char* const type = error.code == "context_length_exceeded" ? "exceed_context_size_error"
                           : error.status == 401                   ? "authentication_error"
                           : error.status == 403                   ? "permission_error"
                           : error.status == 404                   ? "not_found_error"
                           : error.status == 501                   ? "not_supported_error"
                           : error.status == 503                   ? "unavailable_error"
                           : error.status < 500                    ? "invalid_request_error"
                                                                   : "server_error";
  return {{"error", {{"code", error.status}, {"message", error.message}, {"type", type}}}};
}

// How long an answer took, in milliseconds.
inline Json TimingsJson(const AnswerUsage& usage) {
  const auto add = [](Json& json, const std::string& name, uint64_t tokens, double seconds) {
    const double ms = 1000 * seconds;
    json[name + "_n"] = tokens;
    json[name + "_ms"] = ms;
    json[name + "_per_token_ms"] = tokens > 0 ? ms / static_cast<double>(tokens) : 0.0;
    json[name + "_per_second"] = seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  Json json = {{"cache_n", usage.cached_tokens}};
  add(json, "prompt", usage.prompt_tokens - usage.cached_tokens, usage.first_token_seconds);
  add(json, "predicted", usage.completion_tokens, usage.seconds - usage.first_token_seconds);
  return json;
}

// Settings of an answer.
inline Json SettingsJson(const SamplerSettings& sampler) {
  return {{"temperature", sampler.temperature},
          {"top_k", sampler.top_k},
          {"top_p", sampler.top_p},
          {"min_p", sampler.min_p},
          {"repeat_last_n", sampler.penalty_window},
          {"repeat_penalty", sampler.repetition_penalty},
          {"presence_penalty", sampler.presence_penalty},
          {"frequency_penalty", sampler.frequency_penalty}};
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_FORM_H_
