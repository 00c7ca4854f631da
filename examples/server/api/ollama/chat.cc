// SPDX-License-Identifier: Apache-2.0
//
// Chats as Ollama's API has them: docs.ollama.com/api/chat.

#include <deque>
#include <string>
#include <utility>

#include "server/api/chat/chat_call.h"
#include "server/api/chat/messages.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/endpoints.h"
#include "server/api/ollama/form.h"
#include "server/api/request/body_reader.h"

namespace skald::serve {
namespace {

// Ids of calls, which Ollama's messages need not have and some templates ask for: results of tools take those of the
// calls before them in turn.
class CallIds {
 public:
  std::string New() {
    std::string id = std::to_string(++count_);
    id.insert(0, kDigits - std::min(kDigits, id.size()), '0');
    return id;
  }
  void Add(std::string id) { open_.push_back(std::move(id)); }
  std::string Next() {
    if (open_.empty()) return New();
    std::string id = std::move(open_.front());
    open_.pop_front();
    return id;
  }

 private:
  static constexpr size_t kDigits = 9;  // as many as Mistral's templates want
  size_t count_ = 0;
  std::deque<std::string> open_;
};

Json ReadCalls(const Json& calls, const std::string& path, CallIds& ids, RequestNotes& notes) {
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    JsonReader call(calls[i], path + "[" + std::to_string(i) + "]", "OllamaToolCall", &notes);
    std::string id = call.String("id").value_or("");
    if (id.empty()) id = ids.New();
    auto function = call.Object("function");
    if (!function) call.Fail("function", "an object with a name and arguments");
    const Json* const arguments = function->Any("arguments");
    list.push_back(
        {{"type", "function"},
         {"function",
          {{"name", function->NeedString("name")}, {"arguments", arguments == nullptr ? Json::object() : *arguments}}},
         {"id", id}});
    ids.Add(std::move(id));
    function->Finish();
    call.Finish();
  }
  return list;
}

// A message in OpenAI's form.
Json ReadMessage(const Json& json, const std::string& path, CallIds& ids, RequestNotes& notes) {
  JsonReader message(json, path, "OllamaMessage", &notes);
  const std::string role = message.NeedString("role");
  Json result = {{"role", role}, {"content", message.String("content").value_or("")}};
  const auto thought = message.String("thinking");
  if (thought && role == "assistant") result["reasoning_content"] = *thought;
  const Json* const calls = message.Array("tool_calls");
  if (calls != nullptr && role == "assistant" && !calls->empty()) {
    result["tool_calls"] = ReadCalls(*calls, message.PathOf("tool_calls"), ids, notes);
  }
  const auto name = message.String("tool_name");
  const auto id = message.String("tool_call_id");
  if (role == "tool") {
    const std::string next = ids.Next();
    result["tool_call_id"] = id.value_or(next);
    if (name) result["name"] = *name;
  }
  if (auto other = message.String("name")) result["name"] = *other;
  message.Finish();
  return result;
}

}  // namespace

Answer OllamaChat(const Call& call) {
  BodyReader reader(call, "OllamaChatRequest");
  OllamaRequest request = ReadOllamaRequest(reader, call);
  const Json* const given = reader.Array("messages");
  request.chat.tools = ReadTools(reader, kChatTools).list;
  reader.Finish();
  if (given == nullptr || given->empty()) return JsonAnswer(LoadedJson(call, request), *reader.notes());
  CallIds ids;
  Json messages = Json::array();
  for (size_t i = 0; i < given->size(); ++i) {
    messages.push_back(ReadMessage((*given)[i], "messages[" + std::to_string(i) + "]", ids, *reader.notes()));
  }
  request.chat.messages = ReadMessages(messages, "messages", reader.notes());
  return AnswerChat(call, std::move(request.chat), MakeOllamaDialect(std::move(request.form), *reader.notes()));
}

}  // namespace skald::serve
