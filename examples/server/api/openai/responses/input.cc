// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/responses/input.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "server/api/chat/messages.h"

namespace skald::serve {
namespace {

// Items as messages.
class InputReader {
 public:
  InputReader(RequestNotes& notes, const RequestTools& tools, const FindMessages& find)
      : notes_(notes), tools_(tools), find_(find) {}

  Json Read(JsonReader& request, std::string_view field) {
    const Json* const input = request.Any(field);
    if (input == nullptr) return messages_;
    const std::string path = request.PathOf(field);
    if (input->is_string()) {
      messages_.push_back({{"role", "user"}, {"content", *input}});
    } else if (input->is_array()) {
      for (size_t i = 0; i < input->size(); ++i) ReadItem((*input)[i], path + "[" + std::to_string(i) + "]");
    } else {
      request.Fail(field, "a text, or a list of items");
    }
    return messages_.empty() ? messages_ : ReadMessages(messages_, path);
  }

 private:
  void ReadItem(const Json& json, const std::string& path) {
    // OpenAI's client leaves the type of references out.
    JsonReader untyped(json, path);
    const bool is_reference = json.size() == 1 && json.contains("id");
    const std::string type = untyped.String("type").value_or(is_reference ? "item_reference" : "message");
    JsonReader item(json, path, SchemaOf(type), &notes_);
    (void)item.Any("type");
    if (type == "function_call") {
      AddCall(item);
    } else if (type == "function_call_output") {
      AddResult(item);
    } else if (type == "item_reference") {
      AddReferred(item);
    } else if (type == "message") {
      const auto role = item.OneOf("role", {"system", "developer", "user", "assistant"});
      const Json* const content = item.Any("content");
      if (!role || content == nullptr) item.Fail(role ? "content" : "role", "that of a message");
      AddMessage(*role, ReadContent(*content, item.PathOf("content"), &notes_));
    } else if (type == "reasoning") {
      AddThought(item);
    } else if (notes_.is_strict()) {
      item.Fail("type", "'message', 'function_call', 'function_call_output', 'item_reference' or 'reasoning'");
    } else {
      return notes_.AddIgnored(item.PathOf("type") + "=" + type);  // of tools that others run
    }
    item.Finish();
  }

  static std::string SchemaOf(const std::string& type) {
    if (type == "function_call") return "CallItem";
    if (type == "function_call_output") return "ResultItem";
    if (type == "reasoning") return "ReasoningItem";
    return type == "item_reference" ? "ReferenceItem" : "MessageItem";
  }

  // A text of the assistant joins the thought before it.
  void AddMessage(const std::string& role, std::string text) {
    if (role == "assistant" && EndsWithThought()) {
      messages_.back()["content"] = std::move(text);
    } else {
      messages_.push_back({{"role", role}, {"content", std::move(text)}});
    }
  }
  bool EndsWithThought() const {
    if (messages_.empty()) return false;
    const Json& last = messages_.back();
    return last.contains("reasoning_content") && last["content"] == "" && !last.contains("tool_calls");
  }

  // Whether thoughts of earlier answers are read again is for the chat template to say.
  void AddThought(JsonReader& item) {
    std::string thought = ReadThought(item, "content", "reasoning_text");
    std::string summary = ReadThought(item, "summary", "summary_text");
    AddThought(thought.empty() ? std::move(summary) : std::move(thought));
  }
  void AddThought(std::string thought) {
    if (thought.empty()) return;
    messages_.push_back({{"role", "assistant"}, {"content", ""}, {"reasoning_content", std::move(thought)}});
  }
  std::string ReadThought(JsonReader& item, std::string_view field, std::string_view type) {
    std::string text;
    const Json* const parts = item.Array(field);
    for (size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
      JsonReader part((*parts)[i], item.PathOf(field) + "[" + std::to_string(i) + "]", "ThoughtPart", &notes_);
      (void)part.OneOf("type", {type});
      text += part.NeedString("text");
      part.Finish();
    }
    return text;
  }

  // Calls join the assistant's message before them.
  Json& AssistantMessage() {
    if (messages_.empty() || messages_.back()["role"] != "assistant") {
      messages_.push_back({{"role", "assistant"}, {"content", ""}});
    }
    return messages_.back();
  }

  void AddCall(JsonReader& item) {
    const auto id = item.String("id"), call_id = item.String("call_id");
    if (!id && !call_id) item.Fail("call_id", "a string");
    const std::string name = tools_.NameOf({item.String("namespace").value_or(""), item.NeedString("name")});
    AddCall({{"type", "function"},
             {"function", {{"name", name}, {"arguments", item.String("arguments").value_or("{}")}}},
             {"id", call_id ? *call_id : *id}});
  }
  void AddCall(Json call) {
    calls_.push_back(call["id"].get<std::string>());
    AssistantMessage()["tool_calls"].push_back(std::move(call));
  }

  // A result that does not say of which call it is, is that of the first without one.
  void AddResult(JsonReader& item) {
    const Json* const output = item.Any("output");
    std::string id = item.String("call_id").value_or("");
    while (id.empty() && next_ < calls_.size()) {
      if (!answered_.contains(calls_[next_])) id = calls_[next_];
      ++next_;
    }
    answered_.insert(id);
    messages_.push_back({{"role", "tool"},
                         {"tool_call_id", id},
                         {"content", output == nullptr ? "" : ReadContent(*output, item.PathOf("output"), &notes_)}});
  }

  // An item of an earlier response, by its id: KIND_RESPONSE_PLACE.
  void AddReferred(JsonReader& item) {
    constexpr size_t kMostReferences = 1024;
    const std::string id = item.NeedString("id");
    if (referred_ids_.size() >= kMostReferences || !referred_ids_.insert(id).second) {
      item.Fail("id", "that of another item; " + std::to_string(kMostReferences) + " at most");
    }
    const size_t first = id.find('_'), last = id.rfind('_');
    const auto found = first < last ? find_("resp" + id.substr(first, last - first)) : std::nullopt;
    const std::string kind = id.substr(0, std::min(first, id.size()));
    if (!found || found->empty() || found->back()["role"] != "assistant") {
      item.Fail("id", "the id of an item of a response that is stored here");
    }
    const Json& answer = found->back();
    if (kind == "msg") {
      AddMessage("assistant", answer["content"]);
    } else if (kind == "rs") {
      AddThought(answer.value("reasoning_content", ""));
    } else if (kind == "fc") {
      size_t place = 0;
      const std::string digits = id.substr(last + 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
      const size_t calls = answer.contains("tool_calls") ? answer["tool_calls"].size() : 0;
      if (error != std::errc() || end != digits.data() + digits.size() || place >= calls) {
        item.Fail("id", "the id of a call of that response");
      }
      AddCall(answer["tool_calls"][place]);
    }
  }

  RequestNotes& notes_;
  const RequestTools& tools_;
  const FindMessages& find_;
  Json messages_ = Json::array();
  std::vector<std::string> calls_;                 // their ids
  size_t next_ = 0;                                // that may have no result yet
  std::set<std::string> answered_, referred_ids_;  // calls, items
};

}  // namespace

Json ReadResponseItems(JsonReader& request, std::string_view field, const RequestTools& tools,
                       const FindMessages& find) {
  return InputReader(*request.notes(), tools, find).Read(request, field);
}

}  // namespace skald::serve
