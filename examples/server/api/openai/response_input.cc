// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/response_input.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "server/api/request/messages.h"

namespace skald::serve {
namespace {

// The items of a request's input as messages.
class InputReader {
 public:
  InputReader(RequestNotes& notes, const RequestTools& tools, const FindResponse& find)
      : notes_(notes), tools_(tools), find_(find) {}

  Json Read(JsonReader& request) {
    const Json* const input = request.Any("input");
    if (input == nullptr) return messages_;
    if (input->is_string()) {
      messages_.push_back({{"role", "user"}, {"content", *input}});
    } else if (input->is_array()) {
      for (size_t i = 0; i < input->size(); ++i) ReadItem((*input)[i], "input[" + std::to_string(i) + "]");
    } else {
      request.Fail("input", "a text, or a list of items");
    }
    return messages_.empty() ? messages_ : ReadMessages(messages_, "input");
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
      messages_.push_back({{"role", *role}, {"content", ReadContent(*content, item.PathOf("content"), &notes_)}});
    } else if (type == "reasoning") {
      return;  // what was thought before is not read again
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
    return type == "item_reference" ? "ReferenceItem" : "MessageItem";
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
      messages_.push_back({{"role", "assistant"}, {"content", answer["content"]}});
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
  const FindResponse& find_;
  Json messages_ = Json::array();
  std::vector<std::string> calls_;                 // their ids
  size_t next_ = 0;                                // that may have no result yet
  std::set<std::string> answered_, referred_ids_;  // calls, items
};

}  // namespace

Json ReadResponseInput(JsonReader& request, const RequestTools& tools, const FindResponse& find) {
  return InputReader(*request.notes(), tools, find).Read(request);
}

}  // namespace skald::serve
