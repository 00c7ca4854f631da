// SPDX-License-Identifier: Apache-2.0
//
// The form that an answer must have, in the names that several servers gave to the same wish.

#ifndef SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_FORM_H_

#include <memory>
#include <optional>
#include <string>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/constraints/token_filter.h"
#include "skald/engine/requests/request.h"

namespace skald::serve {

// At most one of the two is set.
struct AnswerForm {
  std::optional<Json> schema = {};          // a JSON Schema; null: any object of JSON
  std::optional<std::string> grammar = {};  // in GBNF
  std::string field = {};                   // that asks for it

  bool is_any() const { return !schema && !grammar; }
};

// Reads grammar and json_schema, as llama.cpp names them, and guided_* and structured_outputs, as vLLM does. Thrown:
// two of them at once.
AnswerForm ReadAnswerForm(JsonReader& reader);

// Reads OpenAI's response_format, or the `format` of its responses and of Anthropic's output_config, into `form`.
// Thrown: that `form` has something already.
void ReadResponseFormat(JsonReader& reader, std::string_view name, AnswerForm& form);

// The filter of answers of that form to a prompt without a chat around it; null: any text may come. The request has its
// prompt and most tokens.
std::shared_ptr<const TokenFilter> FilterOfForm(const Call& call, const AnswerForm& form, const Request& request);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_FORM_H_
