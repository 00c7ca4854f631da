// SPDX-License-Identifier: Apache-2.0
//
// The parts that the answers of OpenAI's APIs have in common.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_FORM_H_

#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

inline Json OpenAiErrorJson(const ApiError& error) {
  const char* const type = error.status == 401   ? "authentication_error"
                           : error.status == 403 ? "permission_error"
                           : error.status == 404 ? "not_found_error"
                           : error.status == 429 ? "rate_limit_error"
                           : error.status < 500  ? "invalid_request_error"
                                                 : "server_error";
  return {{"error",
           {{"message", error.message},
            {"type", type},
            {"param", error.param ? Json(*error.param) : Json()},
            {"code", error.code ? Json(*error.code) : Json()}}}};
}

inline std::string FinishReasonOf(const Choice& choice) {
  return choice.finish == FinishReason::kMaxTokens ? "length" : "stop";
}

inline Json UsageJson(const std::vector<Choice>& choices) {
  const AnswerUsage usage = UsageOf(choices);
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"audio_tokens", 0}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.reasoning_tokens},
            {"accepted_prediction_tokens", usage.accepted_tokens},
            {"rejected_prediction_tokens", usage.drafted_tokens - usage.accepted_tokens}}}};
}

class OpenAiDialect : public Dialect {
 public:
  OpenAiDialect(std::string id, std::string model, std::vector<std::string> ignored)
      : Dialect(std::move(ignored)), id_(std::move(id)), model_(std::move(model)), created_(UnixNow()) {}

  Json ErrorJson(const ApiError& error) override { return OpenAiErrorJson(error); }

 protected:
  Json Head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}, {"system_fingerprint", "skald"}};
  }

  // The end of a stream of `object`s, with the usage if the client wants it.
  std::string EndOfStream(const char* object, bool with_usage, const std::vector<Choice>& choices) const {
    std::string out;
    if (with_usage) {
      Json json = Head(object);
      json["choices"] = Json::array();
      json["usage"] = UsageJson(choices);
      json["skald"] = OwnJson(choices);
      out = ServerSentEvent(json);
    }
    return out + "data: [DONE]\n\n";
  }

 private:
  const std::string id_, model_;
  const int64_t created_;
};

// Reads stream_options: whether the usage shall come at the end of the stream.
inline bool ReadIncludeUsage(JsonReader& reader, bool is_stream) {
  auto options = reader.Object("stream_options");
  if (!options) return false;
  if (!is_stream) reader.Fail("stream_options", "nothing unless 'stream' is true");
  const bool with_usage = options->Bool("include_usage").value_or(false);
  options->Finish();
  return with_usage;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_FORM_H_
