// SPDX-License-Identifier: Apache-2.0
//
// Tokens with their log-probabilities, as OpenAI's APIs show them.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_LOGPROBS_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_LOGPROBS_H_

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "server/api/request/json_reader.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/sampling/sampler.h"

namespace skald::serve {

inline Json TokenJson(const TokenVocabulary& vocabulary, int32_t id, double logprob) {
  const std::string_view bytes = vocabulary.BytesOf(id);
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  // A token that is not made of whole characters is exact in its bytes alone.
  return {{"token", std::string(bytes)}, {"logprob", logprob}, {"bytes", std::move(list)}};
}

// The form of chat completions: a list of tokens, each with its alternatives.
inline Json LogprobsJson(const TokenVocabulary& vocabulary, std::span<const SampledToken> tokens) {
  Json content = Json::array();
  for (const SampledToken& token : tokens) {
    Json one = TokenJson(vocabulary, token.id, token.logprob.value_or(0.0f));
    one["top_logprobs"] = Json::array();
    for (const TokenLogprob& top : token.top_logprobs) {
      one["top_logprobs"].push_back(TokenJson(vocabulary, top.id, top.logprob));
    }
    content.push_back(std::move(one));
  }
  return content;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_LOGPROBS_H_
