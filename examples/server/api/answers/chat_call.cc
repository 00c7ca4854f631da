// SPDX-License-Identifier: Apache-2.0

#include "server/api/answers/chat_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/api/answers/turn.h"
#include "server/api/request/entity_tag.h"
#include "server/api/request/messages.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/chat.h"
#include "skald/open/tools/answer_filter.h"

namespace skald::serve {
namespace {

Chat ChatOf(const ChatCall& call, Json messages) {
  Chat chat;
  TreeOf(chat.messages) = std::move(messages);
  if (!call.tools.tools.empty()) TreeOf(chat.tools) = ToolsForTemplate(call.tools);
  TreeOf(chat.variables) = call.variables;
  return chat;
}

// The whole chat as tokens, an earlier answer as the model spelled it. Thrown: that they are certainly more than
// `most`.
std::vector<int32_t> PromptOf(const Call& call, const ChatCall& chat,
                              size_t most = std::numeric_limits<size_t>::max()) {
  const ServedModel& model = call.service->model();
  Chat whole = ChatOf(chat, chat.messages);
  whole.continue_final_message = chat.continues;
  whole.most_ids = most;
  const std::vector<int32_t> known =
      call.service->transcripts().Recall(chat.messages, chat.salt.value_or(call.tenant.name));
  call.StopIfAbandoned();
  if (known.empty()) return Take(model.encode_chat(whole), chat.path);
  const NextTurn next = Take(model.encode_next_turn(whole, known), chat.path);
  std::vector<int32_t> prompt(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(next.keep));
  prompt.insert(prompt.end(), next.ids.begin(), next.ids.end());
  return prompt;
}

// The positions at which other chats are likely to diverge from this one: after the system's message, and before the
// last message. The template renders each of these beginnings alone; its tokens count as far as the prompt begins with
// them.
std::vector<uint32_t> BranchPoints(const Call& call, const ChatCall& chat, std::span<const int32_t> prompt) {
  const ServedModel& model = call.service->model();
  const auto goes_back_anywhere = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
  if (std::ranges::all_of(model.pool->layout().groups(), goes_back_anywhere)) return {};
  std::vector<uint32_t> points;
  for (const size_t count : {size_t{1}, chat.messages.size() - 1}) {
    if (count == 0 || count >= chat.messages.size()) continue;
    if (count == 1 && chat.messages[0]["role"] != "system") continue;
    Chat beginning =
        ChatOf(chat, Json(chat.messages.begin(), chat.messages.begin() + static_cast<std::ptrdiff_t>(count)));
    beginning.add_generation_prompt = false;
    call.StopIfAbandoned();
    const auto ids = model.encode_chat(beginning);
    if (!ids) continue;
    const auto common = std::ranges::mismatch(*ids, prompt).in1 - ids->begin();
    if (common > 0 && static_cast<size_t>(common) < prompt.size()) points.push_back(static_cast<uint32_t>(common));
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

std::shared_ptr<const TokenFilter> FilterOf(const Call& call, const ChatCall& chat, const Request& request,
                                            bool begins_thinking) {
  Service& service = *call.service;
  AnswerRules rules = {.format = service.format(), .tools = chat.tools, .begins_thinking = begins_thinking};
  if (chat.schema) rules.schema = chat.schema->is_null() ? std::string() : Dump(*chat.schema);
  rules.mistral_arguments = service.model().template_source.find("[ARGS]") != std::string::npos;
  const auto prompt = static_cast<uint32_t>(request.prompt.size());
  const uint32_t room = service.context() - std::min(service.context(), prompt) + 1;
  rules.max_tokens = std::min(room, request.max_tokens.value_or(room));
  const char* const param = chat.schema ? "response_format" : "tools";
  return Take(MakeAnswerFilter(rules, Take(rules.needs_names() ? service.NamedVocabulary() : service.Vocabulary()),
                               service.filters()),
              param);
}

void CheckTools(const Call& call, const ChatCall& chat) {
  if (chat.tools.tools.empty()) return;
  const ToolForm form = call.service->format().tools;
  if (form == ToolForm::kNone) throw ApiError{400, "this model's chat template knows no tools", "tools"};
  if (form == ToolForm::kUnknown) {
    throw ApiError{400, "this model calls tools in a form that this server does not read", "tools"};
  }
}

// Puts the messages of the conversation before those of the call. Returns the conversation.
std::optional<Conversation> Continue(const Call& call, ChatCall& chat) {
  if (!chat.conversation) return std::nullopt;
  Conversation conversation =
      TakeKept(call.service->conversations().FindIdle(call.tenant.name, *chat.conversation), "conversation");
  (void)ReadIfMatch(call.http, conversation);
  Json messages = conversation.messages;
  for (Json& message : chat.messages) messages.push_back(std::move(message));
  chat.messages = std::move(messages);
  if (!conversation.secret.empty()) chat.salt = SaltOf(call.tenant.name, conversation);
  return conversation;
}

// The beginning of a text, in whole characters.
std::string TitleOf(const std::string& text) {
  size_t size = std::min<size_t>(text.size(), 60);
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

void SetTitle(Conversation& conversation) {
  for (const Json& message : conversation.messages) {
    if (message["role"] != "user") continue;
    conversation.title = TitleOf(message["content"].get<std::string>());
    return;
  }
}

// Remembers what was said, and how it was spelled. Thrown: what the conversation refuses; then nothing is remembered.
void Remember(Service& service, const std::string& tenant, const ChatCall& chat, std::span<const int32_t> prompt,
              const Choice& choice, Turn* turn) {
  Json messages = chat.messages;
  const bool is_empty = choice.text.empty() && choice.calls.empty() && choice.reasoning.empty();
  if (!is_empty) {
    Json answer = MessageOf(choice);
    if (chat.continues) {
      answer["content"] = messages.back()["content"].get<std::string>() + choice.text;
      messages.erase(messages.size() - 1);
    }
    messages.push_back(std::move(answer));
  }
  if (turn != nullptr) {
    turn->End([&](Conversation& conversation) {
      conversation.messages = messages;
      conversation.model = chat.model.name;
      if (conversation.title.empty()) SetTitle(conversation);
    });
  }
  if (chat.on_messages) chat.on_messages(messages);
  if (is_empty) return;
  std::vector<int32_t> ids(prompt.begin(), prompt.end());
  for (const SampledToken& token : choice.tokens) ids.push_back(token.id);
  service.transcripts().Remember(messages, chat.salt.value_or(tenant), ids);
}

}  // namespace

Json MessageOf(const Choice& choice) {
  Json message = {{"role", "assistant"}, {"content", choice.text}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  for (const Choice::ToolCall& call : choice.calls) {
    const Json arguments = TryParseJson(call.arguments).value_or(Json(call.arguments));
    message["tool_calls"].push_back(
        {{"type", "function"}, {"function", {{"name", call.name}, {"arguments", arguments}}}, {"id", call.id}});
  }
  return message;
}

std::unique_ptr<Exchange> AnswerChat(const Call& call, ChatCall chat, std::unique_ptr<Dialect> dialect) {
  CheckTools(call, chat);
  std::optional<Conversation> conversation = Continue(call, chat);
  if (chat.messages.empty()) throw ApiError{400, "there are no messages", chat.path};
  Request request = std::move(chat.request);
  request.adapter = chat.model.adapter;
  request.salt = chat.salt;
  request.prompt = PromptOf(call, chat, call.service->context());
  request.branch_points = BranchPoints(call, chat, request.prompt);
  const bool begins_thinking = BeginsThinking(call.service->model().tokenizer, call.service->format(), request.prompt);
  call.StopIfAbandoned();
  request.filter = FilterOf(call, chat, request, begins_thinking);
  const OutputReading reading = {call.service->format(), chat.tools, begins_thinking,
                                 /*is_text_or_calls=*/chat.schema.has_value(), chat.continues};
  const bool is_stream = chat.is_stream;
  std::shared_ptr<Turn> turn;
  if (conversation) {
    turn = std::make_shared<Turn>(call.service, call.tenant.name, *std::move(conversation), chat.messages);
  }
  const auto on_end = [service = call.service, tenant = call.tenant.name, chat = std::move(chat),
                       prompt = request.prompt, turn](const std::vector<Choice>& choices) {
    Remember(*service, tenant, chat, prompt, choices[0], turn.get());
  };
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return BeginAnswer(call, std::move(requests), reading, is_stream, std::move(dialect), on_end);
}

size_t CountPromptTokens(const Call& call, ChatCall chat) {
  CheckTools(call, chat);
  Continue(call, chat);
  return PromptOf(call, chat).size();
}

void ReadResponseFormat(JsonReader& reader, std::string_view name, ChatCall& chat) {
  auto format = reader.Object(name);
  if (!format) return;
  const auto type = format->OneOf("type", {"text", "json_object", "json_schema"}).value_or("text");
  if (type == "json_object") chat.schema = Json();
  if (type == "json_schema") {
    // Chat completions have the schema in an object of its own, responses beside the type.
    auto nested = format->Object("json_schema");
    JsonReader& holder = nested ? *nested : *format;
    holder.Ignore({"name", "description", "strict"});
    auto schema = holder.Object("schema");
    if (!schema) holder.Fail("schema", "a JSON Schema");
    chat.schema = schema->json();
    if (nested) nested->Finish();
  }
  format->Finish();
}

}  // namespace skald::serve
