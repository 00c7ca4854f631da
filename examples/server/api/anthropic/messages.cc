// SPDX-License-Identifier: Apache-2.0
//
// Anthropic's Messages API: docs.anthropic.com/en/api/messages.

#include <optional>
#include <string>
#include <utility>

#include "server/api/anthropic/form.h"
#include "server/api/chat/chat_call.h"
#include "server/api/chat/messages.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

class MessageDialect final : public Dialect {
 public:
  MessageDialect(std::string model, std::vector<std::string> stops, std::vector<std::string> ignored)
      : Dialect(std::move(ignored)), model_(std::move(model)), stops_(std::move(stops)) {}

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
        out += EndBlock();
        out += BeginBlock(ToolUse(news.choice.calls[calls_++], Json::object()));
        is_call_ = true;
        continue;
      }
      if (part.kind == OutputPart::Kind::kArguments) {
        out += Delta({{"type", "input_json_delta"}, {"partial_json", part.text}});
        continue;
      }
      if (std::exchange(is_call_, false)) out += EndBlock();
      if (part.kind == OutputPart::Kind::kCallEnd) continue;
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
    const std::vector<Choice::ToolCall>& calls = choices[0].calls;
    SetStop(choices[0], !calls.empty() && calls.back().is_whole, delta);
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
    for (const Choice::ToolCall& call : choice.WholeCalls()) {
      Json input = TryParseAnswerJson(call.arguments).value_or(Json());
      content.push_back(ToolUse(call, input.is_object() ? std::move(input) : Json::object()));
    }
    Json message = Message(std::move(content));
    SetStop(choice, !choice.WholeCalls().empty(), message);
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

  // A stream has shown a call that broke off, so it ends as the answer did; a whole answer has whole calls alone.
  void SetStop(const Choice& choice, bool calls_tools, Json& json) const {
    json["stop_sequence"] = nullptr;
    json["stop_reason"] = "end_turn";
    if (choice.finish == FinishReason::kMaxTokens) json["stop_reason"] = "max_tokens";
    if (calls_tools) json["stop_reason"] = "tool_use";
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
  bool is_open_ = false, is_text_ = false, is_thought_ = false, is_call_ = false;  // the block
};

// A content of blocks as messages in OpenAI's form: results of tools are messages of their own.
class BlockReader {
 public:
  BlockReader(const std::string& role, Json& messages, RequestNotes& notes)
      : role_(role), messages_(messages), notes_(notes), message_({{"role", role}, {"content", ""}}) {}

  void Read(const Json& content, const std::string& path) {
    for (size_t i = 0; i < content.size(); ++i) ReadOne(content[i], path + "[" + std::to_string(i) + "]");
    if (has_content_) messages_.push_back(std::move(message_));
  }

 private:
  void ReadOne(const Json& json, const std::string& path) {
    const std::string type = JsonReader(json, path).NeedString("type");
    JsonReader block(json, path, SchemaOf(type), &notes_);
    (void)block.Any("type");
    if (type == "text") {
      AddText(block.NeedString("text"));
    } else if (type == "tool_use" && role_ == "assistant") {
      AddCall(block);
    } else if (type == "tool_result" && role_ == "user") {
      AddResult(block);
    } else if (type == "document") {
      AddDocument(block);
    } else if (type == "thinking" && role_ == "assistant") {
      AddThought(block.NeedString("thinking"));
    } else if (type == "redacted_thinking" && role_ == "assistant") {
      // There is nothing in it for this server.
    } else if (IsOfServer(type) && !notes_.is_strict()) {
      return notes_.AddIgnored(block.PathOf("type") + "=" + type);
    } else {
      block.Fail("type", role_ == "user" ? "'text' or 'tool_result': this model reads only text"
                                         : "'text', 'tool_use' or 'thinking'");
    }
    block.Finish();
  }

  static std::string SchemaOf(const std::string& type) {
    if (type == "tool_use") return "ToolUseBlock";
    if (type == "tool_result") return "ToolResultBlock";
    if (type == "thinking" || type == "redacted_thinking") return "ThinkingBlock";
    return type == "document" ? "DocumentBlock" : "TextBlock";
  }

  // Blocks about tools that Anthropic's servers run: no model here saw them run.
  static bool IsOfServer(const std::string& type) {
    return type == "server_tool_use" || type == "mcp_tool_use" || type == "container_upload" || type == "compaction" ||
           (type.ends_with("_tool_result") && type != "tool_result");
  }

  void AddText(const std::string& text) {
    message_["content"].get_ref<std::string&>() += text;
    has_content_ = true;
  }

  // Whether thoughts of earlier answers are read again is for the chat template to say.
  void AddThought(const std::string& thought) {
    if (thought.empty()) return;
    message_["reasoning_content"] = message_.value("reasoning_content", "") + thought;
    has_content_ = true;
  }

  void AddCall(JsonReader& block) {
    const Json* const input = block.Any("input");
    message_["tool_calls"].push_back(
        {{"type", "function"},
         {"function", {{"name", block.NeedString("name")}, {"arguments", input == nullptr ? "{}" : input->dump()}}},
         {"id", block.NeedString("id")}});
    has_content_ = true;
  }

  void AddResult(JsonReader& block) {
    const Json* const result = block.Any("content");
    messages_.push_back({{"role", "tool"},
                         {"tool_call_id", block.NeedString("tool_use_id")},
                         {"content", result == nullptr ? "" : ReadContent(*result, block.PathOf("content"), &notes_)}});
  }

  void AddDocument(JsonReader& block) {
    auto source = block.Object("source");
    if (!source) block.Fail("source", "an object with a text");
    const std::string type = source->NeedString("type");
    if (type == "text") {
      AddText(source->NeedString("data"));
    } else if (const Json* const content = type == "content" ? source->Any("content") : nullptr) {
      AddText(ReadContent(*content, source->PathOf("content"), &notes_));
    } else {
      source->Fail("type", "'text' or 'content': this model reads only text");
    }
    source->Finish();
  }

  const std::string& role_;
  Json& messages_;
  RequestNotes& notes_;
  Json message_;
  bool has_content_ = false;
};

Json ReadAnthropicMessages(JsonReader& reader) {
  RequestNotes& notes = *reader.notes();
  Json messages = Json::array();
  if (const Json* const system = reader.Any("system")) {
    messages.push_back({{"role", "system"}, {"content", ReadContent(*system, "system", &notes)}});
  }
  const Json& list = reader.NeedArray("messages");
  for (size_t i = 0; i < list.size(); ++i) {
    JsonReader message(list[i], "messages[" + std::to_string(i) + "]", "AnthropicMessage", &notes);
    const auto role = message.OneOf("role", {"user", "assistant", "system"});
    const Json* const content = message.Any("content");
    if (!role || content == nullptr) message.Fail(role ? "content" : "role", "that of a message");
    if (content->is_array() && *role != "system") {
      BlockReader(*role, messages, notes).Read(*content, message.PathOf("content"));
    } else {
      messages.push_back({{"role", *role}, {"content", ReadContent(*content, message.PathOf("content"), &notes)}});
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
  chat.tools = ReadTools(reader, kAnthropicTools).list;
  if (auto thinking = reader.Object("thinking")) {
    chat.variables["enable_thinking"] = ReadThinking(*thinking);
    thinking->Finish();
  }
  if (auto output = reader.Object("output_config")) {
    if (const auto effort = output->String("effort")) chat.variables["reasoning_effort"] = *effort;
    ReadResponseFormat(*output, "format", chat.form);
    output->Finish();
  }
  ReadResponseFormat(reader, "output_format", chat.form);
  return chat;
}

}  // namespace

Answer Messages(const Call& call) {
  BodyReader reader(call, "MessageRequest");
  ChatCall chat = ReadChat(reader, call);
  chat.least_tokens = ReadSampling(reader, call, chat.request, "stop_sequences");
  if (chat.request.samples != 1) reader.Fail("n", "nothing: a message is one answer");
  const auto most = ReadMostTokens(reader, {"max_tokens"});
  if (!most) reader.Fail("max_tokens", "the most tokens of the answer");
  SetMostTokens(most, call, chat.request);
  chat.is_stream = reader.Bool("stream").value_or(false);
  reader.Finish();
  auto dialect =
      std::make_unique<MessageDialect>(chat.model.name, chat.request.stop_strings, reader.notes()->ignored());
  return AnswerChat(call, std::move(chat), std::move(dialect));
}

Answer CountTokens(const Call& call) {
  BodyReader reader(call, "CountRequest");
  ChatCall chat = ReadChat(reader, call);
  reader.Finish();
  return JsonAnswer({{"input_tokens", CountPromptTokens(call, std::move(chat))}}, *reader.notes());
}

}  // namespace skald::serve
