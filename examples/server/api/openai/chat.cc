// SPDX-License-Identifier: Apache-2.0
//
// Chat completions: platform.openai.com/docs/api-reference/chat.

#include <optional>
#include <string>
#include <utility>

#include "server/api/chat/chat_call.h"
#include "server/api/chat/messages.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

class ChatDialect final : public OpenAiDialect {
 public:
  ChatDialect(std::string model, std::shared_ptr<const TokenVocabulary> vocabulary, bool with_usage,
              std::vector<std::string> ignored)
      : OpenAiDialect(NewId("chatcmpl"), std::move(model), std::move(ignored)),
        vocabulary_(std::move(vocabulary)),
        with_usage_(with_usage) {}

  std::string Add(const ChoiceNews& news) override {
    // Tokens belong to the first part of text or thought; those of a call to none.
    Json logprobs =
        vocabulary_ ? Json{{"content", LogprobsJson(*vocabulary_, news.tokens)}, {"refusal", nullptr}} : Json();
    std::string out;
    size_t calls = news.choice.calls.size();
    for (const OutputPart& part : news.parts) calls -= part.kind == OutputPart::Kind::kToolCall;
    for (const OutputPart& part : news.parts) {
      if (part.kind == OutputPart::Kind::kCallEnd) continue;
      out += Delta(news.index, PartJson(part, news.choice, calls), std::exchange(logprobs, Json()));
    }
    if (out.empty() && vocabulary_) out += Delta(news.index, {{"content", ""}}, std::move(logprobs));
    return out;
  }

  std::string EndChoice(uint32_t index, const Choice& choice) override {
    return Chunk({{"index", index},
                  {"delta", Json::object()},
                  {"logprobs", nullptr},
                  {"finish_reason", FinishOf(choice, !choice.calls.empty() && choice.calls.back().is_whole)}});
  }

  std::string End(const std::vector<Choice>& choices) override {
    return EndOfStream("chat.completion.chunk", with_usage_, choices);
  }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = Head("chat.completion");
    json["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice& choice = choices[i];
      Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
      const std::vector<Choice::ToolCall> calls = choice.WholeCalls();
      if (choice.text.empty() && !calls.empty()) message["content"] = nullptr;
      if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
      for (const Choice::ToolCall& call : calls) {
        message["tool_calls"].push_back({{"id", call.id},
                                         {"type", "function"},
                                         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
      }
      Json logprobs =
          vocabulary_ ? Json{{"content", LogprobsJson(*vocabulary_, choice.tokens)}, {"refusal", nullptr}} : Json();
      json["choices"].push_back({{"index", i},
                                 {"message", std::move(message)},
                                 {"logprobs", std::move(logprobs)},
                                 {"finish_reason", FinishOf(choice, !calls.empty())}});
    }
    json["usage"] = UsageJson(choices);
    json["skald"] = OwnJson(choices);
    return json;
  }

 private:
  // A stream has shown a call that broke off, so it ends as the answer did; a whole answer has whole calls alone.
  static std::string FinishOf(const Choice& choice, bool calls_tools) {
    return calls_tools ? std::string("tool_calls") : FinishReasonOf(choice);
  }

  // A new part, as a delta. `calls` are those that have begun before; it is counted up.
  static Json PartJson(const OutputPart& part, const Choice& choice, size_t& calls) {
    if (part.kind == OutputPart::Kind::kText) return {{"content", part.text}};
    if (part.kind == OutputPart::Kind::kReasoning) return {{"reasoning_content", part.text}};
    Json call = {{"index", calls - 1}, {"function", {{"arguments", part.text}}}};
    if (part.kind == OutputPart::Kind::kToolCall) {
      const Choice::ToolCall& begun = choice.calls[calls];
      call = {{"index", calls},
              {"id", begun.id},
              {"type", "function"},
              {"function", {{"name", begun.name}, {"arguments", ""}}}};
      ++calls;
    }
    return {{"tool_calls", Json::array({std::move(call)})}};
  }

  // The first of a choice says whose it is.
  std::string Delta(uint32_t index, Json delta, Json logprobs) {
    if (index >= has_begun_.size()) has_begun_.resize(index + 1);
    if (!has_begun_[index]) delta["role"] = "assistant";
    has_begun_[index] = true;
    return Chunk(
        {{"index", index}, {"delta", std::move(delta)}, {"logprobs", std::move(logprobs)}, {"finish_reason", nullptr}});
  }

  std::string Chunk(Json choice) {
    Json json = Head("chat.completion.chunk");
    json["choices"] = Json::array({std::move(choice)});
    if (with_usage_) json["usage"] = nullptr;
    return ServerSentEvent(json);
  }

  const std::shared_ptr<const TokenVocabulary> vocabulary_;  // null: no log-probabilities
  const bool with_usage_;
  std::vector<bool> has_begun_;
};

// Reads the variables of the chat template, in the names that servers gave to them.
void ReadVariables(JsonReader& reader, ChatCall& chat) {
  if (const auto variables = reader.Object("chat_template_kwargs")) chat.variables = variables->json();
  if (const auto thinks = reader.Bool("enable_thinking")) chat.variables["enable_thinking"] = *thinks;
  if (auto thinking = reader.Object("thinking")) {
    chat.variables["enable_thinking"] = ReadThinking(*thinking);
    thinking->Finish();
  }
  if (auto reasoning = reader.Object("reasoning")) {
    if (const auto thinks = reasoning->Bool("enabled")) chat.variables["enable_thinking"] = *thinks;
    if (const auto effort = reasoning->String("effort")) chat.variables["reasoning_effort"] = *effort;
    reasoning->Finish();
  }
  if (const auto effort = reader.String("reasoning_effort")) chat.variables["reasoning_effort"] = *effort;
  if (const Json* const documents = reader.Array("documents")) chat.documents = *documents;
  chat.continues = reader.Bool("continue_final_message").value_or(false);
  chat.add_generation_prompt = reader.Bool("add_generation_prompt").value_or(true) && !chat.continues;
}

// A request, and what the form of its answer is made of.
struct ChatRequest {
  ChatCall chat = {};
  bool with_logprobs = false, with_usage = false;
};

ChatRequest ReadRequest(BodyReader& reader, const Call& call) {
  ChatRequest read;
  ChatCall& chat = read.chat;
  chat.conversation = reader.String("conversation");
  chat.model = ReadModelAfter(call.service->conversations(), chat.conversation, reader, call);
  chat.least_tokens = ReadSampling(reader, call, chat.request);
  SetMostTokens(ReadMostTokens(reader, {"max_completion_tokens", "max_tokens", "n_predict"}), call, chat.request);
  const Json& messages = reader.NeedArray("messages");
  // A conversation may end with a message that has no answer yet.
  if (!chat.conversation || !messages.empty()) chat.messages = ReadMessages(messages, "messages", reader.notes());
  chat.tools = ReadTools(reader, kChatTools).list;
  chat.form = ReadAnswerForm(reader);
  ReadResponseFormat(reader, "response_format", chat.form);
  ReadVariables(reader, chat);
  read.with_logprobs = reader.Bool("logprobs").value_or(false);
  const auto top = reader.Integer("top_logprobs", 0, 20);
  if (top && *top > 0 && !read.with_logprobs) reader.Fail("logprobs", "true, as top_logprobs asks");
  if (read.with_logprobs) chat.request.sampler.num_logprobs = static_cast<size_t>(top.value_or(0));
  chat.is_stream = reader.Bool("stream").value_or(false);
  read.with_usage = ReadIncludeUsage(reader, chat.is_stream);
  reader.Finish();
  return read;
}

}  // namespace

Answer ChatCompletions(const Call& call) {
  BodyReader reader(call, "ChatRequest");
  ChatRequest read = ReadRequest(reader, call);
  auto vocabulary = read.with_logprobs ? Take(call.model().NamedVocabulary()) : nullptr;
  auto dialect = std::make_unique<ChatDialect>(read.chat.model.name, std::move(vocabulary), read.with_usage,
                                               reader.notes()->ignored());
  return AnswerChat(call, std::move(read.chat), std::move(dialect));
}

Answer CountChatTokens(const Call& call) {
  BodyReader reader(call, "ChatRequest");
  ChatRequest read = ReadRequest(reader, call);
  return JsonAnswer({{"input_tokens", CountPromptTokens(call, std::move(read.chat))}}, *reader.notes());
}

}  // namespace skald::serve
