// SPDX-License-Identifier: Apache-2.0
//
// Errors as APIs of embeddings and rankings have them.

#ifndef SKALD_EXAMPLES_SERVER_API_ENCODERS_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_ENCODERS_FORM_H_

#include "server/api/openai/form.h"
#include "server/api/request/api_error.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

// Of text-embeddings-inference.
inline Json TeiErrorJson(const ApiError& error) {
  const char* const type = error.status == 429 || error.status == 503 ? "Overloaded"
                           : error.status == 424                      ? "Backend"
                           : error.status < 500                       ? "Validation"
                                                                      : "Backend";
  return {{"error", error.message}, {"error_type", type}};
}

// Of rankings: Jina's clients read "detail", Cohere's "message", llama.cpp's "error".
inline Json RerankErrorJson(const ApiError& error) {
  Json json = OpenAiErrorJson(error);
  json["message"] = json["detail"] = error.message;
  return json;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ENCODERS_FORM_H_
