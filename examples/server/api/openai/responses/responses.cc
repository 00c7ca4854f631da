// SPDX-License-Identifier: Apache-2.0
//
// Responses: platform.openai.com/docs/api-reference/responses. Items become messages and back; a response that is
// stored can be gone on with by its id.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/api/chat/chat_call.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/endpoints.h"
#include "server/api/openai/responses/dialect.h"
#include "server/api/openai/responses/kept_responses.h"
#include "server/api/openai/responses/writer.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

// A field of the request as it came, or `otherwise` if it is missing or null.
Json FieldOf(const Json& body, const char* name, Json otherwise = nullptr) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? otherwise : *found;
}

// The request as a response repeats it, with every field that the Open Responses specification (openresponses.org)
// wants there.
Json EchoOf(const Json& body, const ChatCall& chat) {
  Json tools = FieldOf(body, "tools", Json::array());
  for (Json& tool : tools) {
    if (tool.value("type", Json()) != "function") continue;
    for (const char* const name : {"description", "parameters", "strict"}) {
      if (!tool.contains(name)) tool[name] = nullptr;
    }
  }
  Json text = FieldOf(body, "text", Json::object());
  if (text.value("format", Json()).is_null()) text["format"] = {{"type", "text"}};
  Json reasoning = {{"effort", nullptr}, {"summary", nullptr}};
  reasoning.update(FieldOf(body, "reasoning", Json::object()));
  const SamplerSettings& sampler = chat.request.sampler;
  Json echo = {{"tools", std::move(tools)},
               {"tool_choice", FieldOf(body, "tool_choice", "auto")},
               {"parallel_tool_calls", FieldOf(body, "parallel_tool_calls", true)},
               {"text", std::move(text)},
               {"reasoning", std::move(reasoning)},
               {"metadata", FieldOf(body, "metadata", Json::object())},
               {"store", FieldOf(body, "store", true)},
               {"background", false},
               {"truncation", "disabled"},
               {"service_tier", "default"},
               {"top_logprobs", FieldOf(body, "top_logprobs", 0)},
               {"temperature", sampler.temperature},
               {"top_p", sampler.top_p},
               {"presence_penalty", sampler.presence_penalty},
               {"frequency_penalty", sampler.frequency_penalty}};
  for (const char* const name : {"previous_response_id", "instructions", "max_output_tokens", "max_tool_calls", "user",
                                 "safety_identifier", "prompt_cache_key"}) {
    echo[name] = FieldOf(body, name);
  }
  echo["conversation"] = nullptr;
  if (chat.conversation) echo["conversation"]["id"] = *chat.conversation;
  return echo;
}

// Returns the vocabulary if the request includes log-probabilities.
std::shared_ptr<const TokenVocabulary> ReadLogprobs(JsonReader& reader, const Call& call, Request& request) {
  const auto top = reader.Integer("top_logprobs", 0, 20).value_or(0);
  const std::vector<std::string> include = reader.Strings("include");
  if (std::ranges::find(include, "message.output_text.logprobs") == include.end()) {
    if (top > 0) reader.Fail("include", "'message.output_text.logprobs', as top_logprobs asks");
    return nullptr;
  }
  request.sampler.num_logprobs = static_cast<size_t>(top);
  return Take(call.model().NamedVocabulary());
}

// Reads the conversation that the response belongs to: its id, or an object with that.
std::optional<std::string> ReadConversation(JsonReader& reader) {
  const Json* const given = reader.Any("conversation");
  if (given == nullptr || given->is_string()) return reader.String("conversation");
  auto conversation = reader.Object("conversation");
  std::string id = conversation->NeedString("id");
  conversation->Finish();
  return id;
}

// Reads what the model is shown. The tools of namespaces are told to `places`.
ChatCall ReadResponseChat(JsonReader& reader, const Call& call, std::map<std::string, ToolPlace>& places) {
  ChatCall chat;
  chat.conversation = ReadConversation(reader);
  const auto previous = reader.String("previous_response_id");
  Service& service = *call.service;
  chat.model = previous ? ReadModelAfter(service.responses(), previous, reader, call)
                        : ReadModelAfter(service.conversations(), chat.conversation, reader, call);
  chat.path = "input";
  RequestTools tools = ReadTools(reader, kResponseTools);
  if (previous && chat.conversation) reader.Fail("previous_response_id", "nothing beside 'conversation'");
  Json input = ReadResponseItems(reader, "input", tools, FinderOfMessages(call));
  if (previous) {
    Conversation kept = FindKeptResponse(call, *previous, "previous_response_id");
    chat.messages = std::move(kept.messages);
    chat.writers = std::move(kept.writers);
  }
  for (Json& message : input) chat.messages.push_back(std::move(message));
  // They are of this response alone; those of an earlier one are not among its messages.
  chat.instructions = reader.String("instructions");
  chat.tools = std::move(tools.list);
  places = std::move(tools.places);
  if (auto text = reader.Object("text")) {
    ReadResponseFormat(*text, "format", chat.form);
    text->Finish();
  }
  if (auto reasoning = reader.Object("reasoning")) {
    if (auto effort = reasoning->String("effort")) chat.variables["reasoning_effort"] = *effort;
    reasoning->Finish();
  }
  return chat;
}

}  // namespace

Answer Responses(const Call& call) {
  BodyReader reader(call, "ResponseRequest");
  ResponseForm form = {.id = NewId("resp"), .created = UnixNow()};
  ChatCall chat = ReadResponseChat(reader, call, form.places);
  form.model = chat.model.name;
  chat.response = form.id;
  chat.least_tokens = ReadSampling(reader, call, chat.request);
  if (chat.request.samples != 1) reader.Fail("n", "1: a response is one answer");
  SetMostTokens(ReadMostTokens(reader, {"max_output_tokens"}), call, chat.request);
  form.vocabulary = ReadLogprobs(reader, call, chat.request);
  chat.is_stream = reader.Bool("stream").value_or(false);
  const bool is_stored = reader.Bool("store").value_or(true);
  reader.Finish();
  form.ignored = reader.notes()->ignored();
  form.echo = EchoOf(reader.json(), chat);
  const auto writer = std::make_shared<ResponseWriter>(std::move(form));
  if (is_stored) {
    chat.on_end = [service = call.service, tenant = call.tenant.name, writer](const AnsweredChat& answered) {
      KeepResponse(*service, tenant, answered, *writer);
    };
  }
  return AnswerChat(call, std::move(chat), MakeResponseDialect(writer));
}

Answer CountInputTokens(const Call& call) {
  BodyReader reader(call, "InputTokensRequest");
  std::map<std::string, ToolPlace> places;
  ChatCall chat = ReadResponseChat(reader, call, places);
  reader.Finish();
  return JsonAnswer({{"object", "response.input_tokens"}, {"input_tokens", CountPromptTokens(call, std::move(chat))}},
                    *reader.notes());
}

}  // namespace skald::serve
