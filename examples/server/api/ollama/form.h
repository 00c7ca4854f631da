// SPDX-License-Identifier: Apache-2.0
//
// The parts that requests and answers of Ollama's API have in common.

#ifndef SKALD_EXAMPLES_SERVER_API_OLLAMA_FORM_H_
#define SKALD_EXAMPLES_SERVER_API_OLLAMA_FORM_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/call.h"
#include "server/api/chat/chat_call.h"
#include "server/api/request/json_reader.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald::serve {

// The version of Ollama whose API this is, which clients ask for before they use what is new.
inline constexpr std::string_view kOllamaVersion = "0.12.6";

inline Json OllamaErrorJson(const ApiError& error) { return {{"error", error.message}}; }

// The name of a model as Ollama lists it: with a tag.
std::string TaggedName(std::string_view name);

// The model that `model` or the older `name` of a request names, with or without the tag ":latest". Thrown: 404 for an
// unknown name.
const NamedModel& ReadOllamaModel(JsonReader& reader, const Call& call);

// How an answer is written, as chat and generate read it alike.
struct OllamaForm {
  std::string model;                                            // as the client names it
  bool is_chat = true;                                          // else the text is a `response`
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
};

// The fields of a request that chat and generate have in common.
struct OllamaRequest {
  OllamaForm form;
  ChatCall chat;         // without messages
  bool unloads = false;  // the client needs the model no more
};
OllamaRequest ReadOllamaRequest(JsonReader& reader, const Call& call);

// Lines of JSON. `notes` are of the request, when all of it is read.
std::unique_ptr<Dialect> MakeOllamaDialect(OllamaForm form, const RequestNotes& notes);

// The answer to a request without any text, by which clients load and unload models: the model is loaded by now, and is
// unloaded here.
Json LoadedJson(const Call& call, const OllamaRequest& request);

// The counts and times of an answer: Ollama counts nanoseconds.
Json DurationsJson(const AnswerUsage& usage);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OLLAMA_FORM_H_
