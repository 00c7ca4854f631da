// SPDX-License-Identifier: Apache-2.0
//
// Tokens with their log-probabilities, as OpenAI's APIs show them.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_LOGPROBS_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_LOGPROBS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/api/request/json_reader.h"
#include "skald/base/text/utf8.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/sampling/sampler.h"

namespace skald::serve {

// Whether bytes are valid UTF-8 to their end. A token may be a part of a character.
inline bool IsWholeCharacters(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Character character = FirstUtf8Character(bytes);
    if (character.status != Utf8Status::kComplete) return false;
    bytes.remove_prefix(character.length);
  }
  return true;
}

// A token as a text of its own: the bytes of one that is not made of whole characters are spelled, as OpenAI does, so
// that different tokens have different names.
inline std::string PrintedToken(std::string_view bytes) {
  if (IsWholeCharacters(bytes)) return std::string(bytes);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

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
