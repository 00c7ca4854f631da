// SPDX-License-Identifier: Apache-2.0

#include "server/api/chat/messages.h"

#include <utility>

#include "skald/base/json/json_value_tree.h"

namespace skald::serve {
namespace {

std::string At(const std::string& path, size_t index) { return path + "[" + std::to_string(index) + "]"; }

Json ReadCalls(const Json& calls, const std::string& path, RequestNotes* notes) {
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    JsonReader call(calls[i], At(path, i), "ToolCall", notes);
    const auto id = call.String("id");
    (void)call.OneOf("type", {"function"});
    auto function = call.Object("function");
    if (!function) call.Fail("function", "an object with a name and arguments");
    const std::string name = function->NeedString("name");
    const Json* const given = function->Any("arguments");
    Json arguments = given == nullptr ? Json::object() : *given;
    if (arguments.is_string()) {
      auto parsed = TryParseJson(arguments.get_ref<const std::string&>());
      if (parsed && parsed->is_object()) arguments = *std::move(parsed);  // else templates write the text as it is
    } else if (!arguments.is_object()) {
      function->Fail("arguments", "a text that is an object of JSON");
    }
    function->Finish();
    call.Finish();
    Json one = {{"type", "function"}, {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
    if (id) one["id"] = *id;
    list.push_back(std::move(one));
  }
  return list;
}

// The text of an assistant's message, which is its refusal if it has no content.
std::string ReadMessageContent(JsonReader& message, const Json* content) {
  const auto refusal = message.String("refusal");
  if (content == nullptr) return refusal.value_or("");
  return ReadContent(*content, message.PathOf("content"), message.notes());
}

Json ReadMessage(const Json& json, const std::string& path, RequestNotes* notes) {
  JsonReader message(json, path, "ChatMessage", notes);
  auto role = message.OneOf("role", {"system", "developer", "user", "assistant", "tool"});
  if (!role) message.Fail("role", "one of 'system', 'user', 'assistant', 'tool'");
  if (*role == "developer") role = "system";
  Json result = {{"role", *role}};
  const Json* const content = message.Any("content");
  const Json* const calls = *role == "assistant" ? message.Array("tool_calls") : nullptr;
  const Json* const refusal = *role == "assistant" ? message.Any("refusal") : nullptr;
  if (content == nullptr && calls == nullptr && refusal == nullptr) message.Fail("content", "a text");
  result["content"] = ReadMessageContent(message, content);
  if (*role == "assistant") {
    const auto thought = message.String("reasoning_content"), other = message.String("reasoning");
    if (thought || other) result["reasoning_content"] = thought ? *thought : *other;
  }
  if (calls != nullptr) result["tool_calls"] = ReadCalls(*calls, message.PathOf("tool_calls"), notes);
  if (*role == "tool") result["tool_call_id"] = message.NeedString("tool_call_id");
  if (auto name = message.String("name")) result["name"] = *name;
  message.Finish();
  return result;
}

}  // namespace

std::string ReadContent(const Json& content, const std::string& path, RequestNotes* notes) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array())
    throw ApiError{400, "'" + path + "' is " + DescribeJson(content) + ", expected a text", path};
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    JsonReader part(content[i], At(path, i), "TextPart", notes);
    const std::string type = part.String("type").value_or("text");
    if (type != "text" && type != "input_text" && type != "output_text" && type != "refusal") {
      throw ApiError{400, "'" + part.PathOf("type") + "' is '" + type.substr(0, 64) + "': this model reads only text",
                     part.PathOf("type")};
    }
    text += part.NeedString(type == "refusal" ? "refusal" : "text");
    part.Finish();
  }
  return text;
}

Json ReadMessages(const Json& messages, const std::string& path, RequestNotes* notes) {
  if (!messages.is_array() || messages.empty()) {
    throw ApiError{400, "'" + path + "' is " + DescribeJson(messages) + ", expected a list of at least one message",
                   path};
  }
  Json list = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) list.push_back(ReadMessage(messages[i], At(path, i), notes));
  return list;
}

Json ToolsForTemplate(const ToolList& tools) {
  Json list = Json::array();
  for (const Tool& tool : tools.tools) {
    const Json function = {
        {"name", tool.name}, {"description", tool.description}, {"parameters", TreeOf(tool.parameters)}};
    list.push_back({{"type", "function"}, {"function", function}});
  }
  return list;
}

}  // namespace skald::serve
