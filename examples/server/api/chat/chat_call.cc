// SPDX-License-Identifier: Apache-2.0

#include "server/api/chat/chat_call.h"

#include <algorithm>
#include <utility>

#include "server/api/chat/entity_tag.h"
#include "server/api/chat/messages.h"
#include "server/api/chat/plain_messages.h"
#include "server/api/chat/turn.h"
#include "server/api/request/sampling.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/chat.h"
#include "skald/open/tools/answer_filter.h"
#include "skald/serving/chat_prompt.h"

namespace skald::serve {
namespace {

// A chat as the model is shown it.
Json ShownMessages(const Service& service, const ChatCall& call, const Json& messages) {
  if (!call.instructions) return service.WithSystem(messages);
  Json all = Json::array({Json{{"role", "system"}, {"content", *call.instructions}}});
  for (const Json& message : messages) all.push_back(message);
  return all;
}

// The whole chat, as the template takes it.
Chat ChatOf(const Call& of, const ChatCall& call) {
  Chat chat;
  TreeOf(chat.messages) = ShownMessages(*of.service, call, call.messages);
  if (!call.tools.tools.empty()) TreeOf(chat.tools) = ToolsForTemplate(call.tools);
  TreeOf(chat.variables) = call.variables;
  if (!call.documents.is_null()) TreeOf(chat.documents) = call.documents;
  chat.tools_are_text = of.model().served().text.output.tools == ToolForm::kJson;
  chat.continue_final_message = call.continues;
  chat.add_generation_prompt = call.add_generation_prompt;
  chat.options = RenderOptionsNow();
  return chat;
}

// The ids of a chat, whose messages become those that the template takes.
std::vector<int32_t> PromptOf(const Call& call, const ChatCall& chat, Chat& whole) {
  ModelService& model = call.model();
  call.StopIfAbandoned();
  const std::string salt = chat.salt.value_or(call.tenant.name);
  auto ids = EncodePrompt(model.served().text, whole, model.transcripts(), salt);
  if (!ids && ids.error().code == skald::ErrorCode::kInvalidArgument) {
    for (Json& messages : PlainerMessages(TreeOf(whole.messages))) {
      call.StopIfAbandoned();
      Chat plainer = whole;
      TreeOf(plainer.messages) = std::move(messages);
      auto others = EncodePrompt(model.served().text, plainer, model.transcripts(), salt);
      if (!others) continue;
      whole = std::move(plainer);
      return *std::move(others);
    }
  }
  return Take(std::move(ids), chat.path);
}

// Gives the request the chat's prompt, and the positions from which other chats are likely to go on. Thrown: that it is
// certain to have more tokens than fit.
void SetPrompt(const Call& call, const ChatCall& chat, Request& request) {
  const ModelService& model = call.model();
  Chat whole = ChatOf(call, chat);
  whole.most_ids = model.context();
  request.prompt = PromptOf(call, chat, whole);
  call.StopIfAbandoned();
  request.branch_points = BranchPointsOf(model.served().text, model.served().pool->layout(), whole, request.prompt);
  call.StopIfAbandoned();
}

std::shared_ptr<const TokenFilter> FilterOf(const Call& call, const ChatCall& chat, const Request& request,
                                            bool begins_thinking) {
  const AnswerForm& form = chat.form;
  if (form.grammar) {
    if (chat.tools.may_call()) throw ApiError{400, "'" + form.field + "' has no room for calls of tools", form.field};
    if (begins_thinking) {
      throw ApiError{400, "'" + form.field + "' has no room for the thought that the prompt begins", form.field};
    }
    return Take(call.model().FilterOfGrammar(*form.grammar), form.field);
  }
  AnswerRules rules = {.tools = chat.tools, .begins_thinking = begins_thinking};
  if (form.schema) rules.schema = form.schema->is_null() ? std::string() : Dump(*form.schema);
  return Take(call.model().FilterOf(std::move(rules), request), form.schema ? form.field : "tools");
}

void CheckTools(const Call& call, const ChatCall& chat) {
  if (chat.tools.tools.empty()) return;
  const ToolForm form = call.model().served().text.output.tools;
  if (form == ToolForm::kUnknown) {
    throw ApiError{400, "this model's chat template writes tool calls in a form that is not known: see --tool-format",
                   "tools"};
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
  chat.writers = conversation.writers;
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
void Remember(const Service& service, ModelService& model, const std::string& tenant, const ChatCall& chat,
              std::span<const int32_t> prompt, const std::vector<Choice>& choices, Turn* turn) {
  const Choice& choice = choices[0];
  Json messages = chat.messages;
  std::vector<std::string> writers = chat.writers;
  const bool is_empty = choice.text.empty() && choice.WholeCalls().empty() && choice.reasoning.empty();
  if (!is_empty) {
    Json answer = MessageOf(choice);
    if (chat.continues) {
      answer["content"] = messages.back()["content"].get<std::string>() + choice.text;
      messages.erase(messages.size() - 1);
    }
    messages.push_back(std::move(answer));
    writers.resize(messages.size() - 1);
    writers.push_back(chat.response);
  }
  if (turn != nullptr) {
    turn->End([&](Conversation& conversation) {
      conversation.messages = messages;
      conversation.writers = writers;
      conversation.model = chat.model.name;
      if (conversation.title.empty()) SetTitle(conversation);
    });
  }
  if (chat.on_end) chat.on_end({messages, writers, choices});
  if (is_empty) return;
  std::vector<int32_t> ids(prompt.begin(), prompt.end());
  for (const SampledToken& token : choice.tokens) ids.push_back(token.id);
  const JsonValue shown = JsonValueOf(ShownMessages(service, chat, messages));
  model.transcripts().Remember(shown, chat.salt.value_or(tenant), ids);
}

}  // namespace

Json MessageOf(const Choice& choice) {
  Json message = {{"role", "assistant"}, {"content", choice.text}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  for (const Choice::ToolCall& call : choice.WholeCalls()) {
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
  SetPrompt(call, chat, request);
  const ModelText& text = call.model().served().text;
  const bool begins_thinking = BeginsThinking(text.tokenizer, text.output, request.prompt);
  request.filter = FilterOf(call, chat, request, begins_thinking);
  SetLeastTokens(chat.least_tokens, call, request);
  const OutputReading reading = {text.output, chat.tools, begins_thinking,
                                 /*is_text_or_calls=*/!chat.form.is_any(), chat.continues};
  const bool is_stream = chat.is_stream;
  std::shared_ptr<Turn> turn;
  if (conversation) {
    turn = std::make_shared<Turn>(call.service, call.tenant.name, *std::move(conversation), chat.messages);
  }
  const auto on_end = [service = call.service, model = call.lease(), tenant = call.tenant.name, chat = std::move(chat),
                       prompt = request.prompt, turn](const std::vector<Choice>& choices) {
    Remember(*service, *model->service, tenant, chat, prompt, choices, turn.get());
  };
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return BeginAnswer(call, std::move(requests), reading, is_stream, std::move(dialect), on_end);
}

size_t CountPromptTokens(const Call& call, ChatCall chat) {
  CheckTools(call, chat);
  Continue(call, chat);
  if (chat.messages.empty()) throw ApiError{400, "there are no messages", chat.path};
  Chat whole = ChatOf(call, chat);
  return PromptOf(call, chat, whole).size();
}

bool ReadThinking(JsonReader& thinking) {
  return thinking.OneOf("type", {"enabled", "disabled", "adaptive"}).value_or("disabled") != "disabled";
}

std::string RenderPrompt(const Call& call, const ChatCall& chat) {
  CheckTools(call, chat);
  const ModelText& text = call.model().served().text;
  return Take(RenderChat(text.tokenizer, text.chat_template, ChatOf(call, chat)), chat.path).text();
}

}  // namespace skald::serve
