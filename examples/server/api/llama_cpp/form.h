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

// How long an answer took, in milliseconds. The first token comes from the prompt's step, so that rates of the answer
// are those of its other tokens.
inline Json TimingsJson(const AnswerUsage& usage) {
  const auto add = [](Json& json, const std::string& name, uint64_t tokens, uint64_t computed, double seconds) {
    const double ms = 1000 * seconds;
    const bool has_rate = computed > 0 && seconds > 0;
    json[name + "_n"] = tokens;
    json[name + "_ms"] = ms;
    json[name + "_per_token_ms"] = has_rate ? ms / static_cast<double>(computed) : 0.0;
    json[name + "_per_second"] = has_rate ? static_cast<double>(computed) / seconds : 0.0;
  };
  const uint64_t prompt = usage.prompt_tokens - usage.cached_tokens, answer = usage.completion_tokens;
  Json json = {{"cache_n", usage.cached_tokens}};
  add(json, "prompt", prompt, prompt, usage.first_token_seconds);
  add(json, "predicted", answer, answer > 0 ? answer - 1 : 0, usage.seconds - usage.first_token_seconds);
  return json;
}

// Settings of an answer.
inline Json SettingsJson(const SamplerSettings& sampler) {
  return {{"seed", sampler.random.seed},
          {"temperature", sampler.temperature},
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
