// SPDX-License-Identifier: Apache-2.0
//
// Anthropic's Messages API: docs.anthropic.com/en/api/messages.

#include <optional>
#include <string>
#include <utility>

#include "server/api/answers/chat_call.h"
#include "server/api/anthropic/form.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/request/messages.h"
#include "server/api/request/sampling.h"
#include "server/api/request/tool_reading.h"

namespace skald::serve {
namespace {

class MessageDialect final : public Dialect {
 public:
  MessageDialect(std::string model, std::vector<std::string> stops)
      : model_(std::move(model)), stops_(std::move(stops)) {}

  // How much of the prompt was cached is known at the end.
  std::string Begin(uint64_t prompt_tokens) override {
    Json message = Message(Json::array());
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = {{"input_tokens", prompt_tokens}, {"output_tokens", 0}};
    return Event("message_start", {{"message", message}}) + Event("ping", Json::object());
  }

  std::string Add(const ChoiceNews& news) override {
    std::string out;
    for (const OutputPart& part : news.parts) {
      if (part.kind == OutputPart::Kind::kToolCall) {
        const Choice::ToolCall& call = news.choice.calls[calls_++];
        out += EndBlock();
        out += BeginBlock(ToolUse(call, Json::object()));
        out += Delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
        out += EndBlock();
        continue;
      }
      const bool is_text = part.kind == OutputPart::Kind::kText;
      if (!is_open_ || is_text != is_text_) {
        out += EndBlock();
        out += BeginBlock(is_text ? Json{{"type", "text"}, {"text", ""}}
                                  : Json{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        is_text_ = is_text;
      }
      out += Delta(is_text ? Json{{"type", "text_delta"}, {"text", part.text}}
                           : Json{{"type", "thinking_delta"}, {"thinking", part.text}});
    }
    return out;
  }

  std::string EndChoice(uint32_t, const Choice&) override { return EndBlock(); }

  std::string End(const std::vector<Choice>& choices) override {
    Json delta = Json::object();
    SetStop(choices[0], delta);
    return Event("message_delta", {{"delta", delta}, {"usage", UsageJson(choices)}, {"skald", OwnJson(choices)}}) +
           Event("message_stop", Json::object());
  }

  Json ErrorJson(const ApiError& error) override { return AnthropicErrorJson(error); }
  std::string ErrorEvent(const ApiError& error) override { return ServerSentEvent(ErrorJson(error), "error"); }

  Json Whole(const std::vector<Choice>& choices) override {
    const Choice& choice = choices[0];
    Json content = Json::array();
    if (!choice.reasoning.empty()) {
      content.push_back({{"type", "thinking"}, {"thinking", choice.reasoning}, {"signature", ""}});
    }
    if (!choice.text.empty()) content.push_back({{"type", "text"}, {"text", choice.text}});
    for (const Choice::ToolCall& call : choice.calls) {
      Json input = TryParseAnswerJson(call.arguments).value_or(Json());
      content.push_back(ToolUse(call, input.is_object() ? std::move(input) : Json::object()));
    }
    Json message = Message(std::move(content));
    SetStop(choice, message);
    message["usage"] = UsageJson(choices);
    message["skald"] = OwnJson(choices);
    return message;
  }

 private:
  Json Message(Json content) const {
    return {
        {"id", id_}, {"type", "message"}, {"role", "assistant"}, {"model", model_}, {"content", std::move(content)}};
  }

  static Json UsageJson(const std::vector<Choice>& choices) {
    const AnswerUsage usage = UsageOf(choices);
    return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
            {"cache_read_input_tokens", usage.cached_tokens},
            {"cache_creation_input_tokens", 0},
            {"output_tokens", usage.completion_tokens}};
  }

  void SetStop(const Choice& choice, Json& json) const {
    json["stop_sequence"] = nullptr;
    json["stop_reason"] = "end_turn";
    if (choice.finish == FinishReason::kMaxTokens) json["stop_reason"] = "max_tokens";
    if (!choice.calls.empty()) json["stop_reason"] = "tool_use";
    if (!choice.stop_string) return;
    json["stop_reason"] = "stop_sequence";
    json["stop_sequence"] = stops_.at(*choice.stop_string);
  }

  static Json ToolUse(const Choice::ToolCall& call, Json input) {
    return {
        {"type", "tool_use"}, {"id", "toolu_" + call.id.substr(5)}, {"name", call.name}, {"input", std::move(input)}};
  }

  static std::string Event(const char* type, Json fields) {
    Json event = {{"type", type}};
    event.update(fields);
    return ServerSentEvent(event, type);
  }
  std::string BeginBlock(Json block) {
    is_open_ = true;
    is_thought_ = block["type"] == "thinking";
    return Event("content_block_start", {{"index", block_}, {"content_block", std::move(block)}});
  }
  std::string Delta(Json delta) {
    return Event("content_block_delta", {{"index", block_}, {"delta", std::move(delta)}});
  }
  std::string EndBlock() {
    if (!std::exchange(is_open_, false)) return {};
    std::string out;
    if (is_thought_) out = Delta({{"type", "signature_delta"}, {"signature", ""}});
    return out + Event("content_block_stop", {{"index", block_++}});
  }

  const std::string id_ = NewId("msg"), model_;
  const std::vector<std::string> stops_;
  size_t block_ = 0, calls_ = 0;
  bool is_open_ = false, is_text_ = false, is_thought_ = false;
};

// A content of blocks as messages in OpenAI's form: results of tools are messages of their own.
void ReadBlocks(const std::string& role, const Json& content, const std::string& path, Json& messages) {
  Json message = {{"role", role}, {"content", ""}};
  bool has_content = false;
  for (size_t i = 0; i < content.size(); ++i) {
    JsonReader block(content[i], path + "[" + std::to_string(i) + "]");
    const std::string type = block.NeedString("type");
    block.Ignore({"cache_control", "citations"});
    if (type == "text") {
      message["content"].get_ref<std::string&>() += block.NeedString("text");
      has_content = true;
    } else if (type == "tool_use" && role == "assistant") {
      const Json* const input = block.Any("input");
      message["tool_calls"].push_back(
          {{"type", "function"},
           {"function", {{"name", block.NeedString("name")}, {"arguments", input == nullptr ? "{}" : input->dump()}}},
           {"id", block.NeedString("id")}});
      has_content = true;
    } else if (type == "tool_result" && role == "user") {
      const Json* const result = block.Any("content");
      block.Ignore({"is_error"});
      messages.push_back({{"role", "tool"},
                          {"tool_call_id", block.NeedString("tool_use_id")},
                          {"content", result == nullptr ? "" : ReadContent(*result, block.PathOf("content"))}});
    } else if ((type == "thinking" || type == "redacted_thinking") && role == "assistant") {
      continue;  // what was thought before is not read again
    } else {
      block.Fail("type", role == "user" ? "'text' or 'tool_result': this model reads only text"
                                        : "'text', 'tool_use' or 'thinking'");
    }
    block.Finish();
  }
  if (has_content) messages.push_back(std::move(message));
}

Json ReadAnthropicMessages(JsonReader& reader) {
  Json messages = Json::array();
  if (const Json* const system = reader.Any("system")) {
    messages.push_back({{"role", "system"}, {"content", ReadContent(*system, "system")}});
  }
  const Json& list = reader.NeedArray("messages");
  for (size_t i = 0; i < list.size(); ++i) {
    JsonReader message(list[i], "messages[" + std::to_string(i) + "]");
    const auto role = message.OneOf("role", {"user", "assistant"});
    const Json* const content = message.Any("content");
    if (!role || content == nullptr) message.Fail(role ? "content" : "role", "that of a message");
    if (content->is_array()) {
      ReadBlocks(*role, *content, message.PathOf("content"), messages);
    } else {
      messages.push_back({{"role", *role}, {"content", ReadContent(*content, message.PathOf("content"))}});
    }
    message.Finish();
  }
  return ReadMessages(messages, "messages");
}

// Whether the last message is the beginning of the answer.
bool IsPrefilled(const Json& messages) {
  if (messages.empty()) return false;
  const Json& last = messages.back();
  if (last["role"] != "assistant" || last.contains("tool_calls")) return false;
  return last["content"].get_ref<const std::string&>().find_first_not_of(" \t\r\n") != std::string::npos;
}

// Reads the fields that both endpoints have.
ChatCall ReadChat(JsonReader& reader, const Call& call) {
  ChatCall chat;
  chat.model = ReadModel(reader, call);
  chat.messages = ReadAnthropicMessages(reader);
  chat.continues = IsPrefilled(chat.messages);
  chat.tools = ReadTools(reader, kAnthropicTools);
  if (auto thinking = reader.Object("thinking")) {
    const auto type = thinking->OneOf("type", {"enabled", "disabled", "adaptive"}).value_or("disabled");
    chat.variables["enable_thinking"] = type != "disabled";
    thinking->Ignore({"budget_tokens"});
    thinking->Finish();
  }
  return chat;
}

}  // namespace

Answer Messages(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  ChatCall chat = ReadChat(reader, call);
  ReadSampling(reader, call, chat.request, "stop_sequences");
  if (chat.request.samples != 1) reader.Fail("n", "nothing: a message is one answer");
  const auto most = reader.Integer("max_tokens", 1, kMostRequestTokens);
  if (!most) reader.Fail("max_tokens", "the most tokens of the answer");
  SetMostTokens(most, call, chat.request);
  chat.is_stream = reader.Bool("stream").value_or(false);
  reader.Ignore({"metadata", "service_tier", "cache_control"});
  reader.Refuse("container", "there are none here");
  reader.Refuse("mcp_servers", "tools are called by the client", {Json::array()});
  reader.Finish();
  auto dialect = std::make_unique<MessageDialect>(chat.model.name, chat.request.stop_strings);
  return AnswerChat(call, std::move(chat), std::move(dialect));
}

Answer CountTokens(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  ChatCall chat = ReadChat(reader, call);
  reader.Ignore({"metadata", "cache_control"});
  reader.Finish();
  return JsonAnswer({{"input_tokens", CountPromptTokens(call, std::move(chat))}});
}

}  // namespace skald::serve
