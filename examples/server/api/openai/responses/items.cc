// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/responses/items.h"

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "server/api/openai/responses/writer.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_key.h"

namespace skald::serve {
namespace {

// A text of a message, which is empty if there is none.
std::string TextIn(const Json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class ItemMaker {
 public:
  explicit ItemMaker(const Conversation& conversation) : conversation_(conversation) {}

  std::vector<KeptItem> Make(size_t count) {
    for (message_ = 0; message_ < count; ++message_) {
      const Json& message = conversation_.messages[message_];
      const std::string role = message["role"];
      if (role == "assistant") {
        AddAnswer(message);
      } else if (role == "tool") {
        Add("fco", {{"type", "function_call_output"},
                    {"status", "completed"},
                    {"call_id", TextIn(message, "tool_call_id")},
                    {"output", TextIn(message, "content")}});
      } else {
        Add("msg", {{"type", "message"},
                    {"status", "completed"},
                    {"role", role},
                    {"content", Json::array({{{"type", "input_text"}, {"text", TextIn(message, "content")}}})}});
      }
    }
    return std::move(items_);
  }

 private:
  void AddAnswer(const Json& message) {
    const std::string text = TextIn(message, "content"), thought = TextIn(message, "reasoning_content");
    const size_t first = items_.size();
    const bool has_calls = message.contains("tool_calls") && !message["tool_calls"].empty();
    if (!thought.empty()) {
      Add("rs",
          {{"type", "reasoning"},
           {"summary", Json::array()},
           {"content", Json::array({ResponseWriter::Part(/*is_text=*/false, thought, Json())})}},
          0);
    }
    if (!text.empty() || (thought.empty() && !has_calls)) {
      Add("msg",
          {{"type", "message"},
           {"status", "completed"},
           {"role", "assistant"},
           {"content", Json::array({ResponseWriter::Part(/*is_text=*/true, text, Json::array())})}},
          items_.size() - first);
    }
    if (!has_calls) return;
    const Json& calls = message["tool_calls"];
    for (size_t i = 0; i < calls.size(); ++i) {
      const Json& function = calls[i]["function"];
      const Json& arguments = function["arguments"];
      Add("fc",
          {{"type", "function_call"},
           {"status", "completed"},
           {"call_id", TextIn(calls[i], "id")},
           {"name", function["name"]},
           {"arguments", arguments.is_string() ? arguments.get<std::string>() : Dump(arguments)}},
          i);
      items_.back().call = i;
    }
  }

  // `place` is that in the response that wrote it, if one did.
  void Add(const char* kind, Json fields, std::optional<size_t> place = {}) {
    const auto& writers = conversation_.writers;
    const bool has_writer = place && message_ < writers.size() && !writers[message_].empty();
    Json item = {{"id", has_writer ? ItemIdOf(kind, writers[message_], *place) : NewIdOf(kind, fields)}};
    item.update(fields);
    items_.push_back({std::move(item), message_});
  }

  // An id of what the item says, and how many before it say the same.
  std::string NewIdOf(const char* kind, const Json& fields) {
    constexpr size_t kDigits = 24;
    const std::string text = Dump(fields);
    const std::string number = std::to_string(seen_[text]++);
    const auto digest = Sha256().Update(conversation_.id).Update("\n" + number + "\n").Update(text).Finish();
    if (!digest) throw std::bad_alloc();
    return kind + ("_" + ChunkKey{*digest}.ToHex().substr(0, kDigits));
  }

  const Conversation& conversation_;
  size_t message_ = 0;
  std::vector<KeptItem> items_;
  std::map<std::string, size_t> seen_;
};

bool IsEmptyAnswer(const Json& message) {
  return TextIn(message, "content").empty() && !message.contains("reasoning_content") &&
         !message.contains("tool_calls");
}

}  // namespace

std::vector<KeptItem> ItemsOf(const Conversation& conversation, size_t count) {
  return ItemMaker(conversation).Make(count);
}

void RemoveItem(const KeptItem& item, Conversation& conversation) {
  Json& message = conversation.messages[item.message];
  if (item.call) {
    message["tool_calls"].erase(*item.call);
    if (message["tool_calls"].empty()) message.erase("tool_calls");
  } else if (item.json["type"] == "reasoning") {
    message.erase("reasoning_content");
  } else {
    message["content"] = "";
  }
  // Places in the response are those of the whole message.
  auto& writers = conversation.writers;
  if (item.message < writers.size()) writers[item.message].clear();
  if (message["role"] == "assistant" && !IsEmptyAnswer(message)) return;
  conversation.messages.erase(item.message);
  if (item.message < writers.size()) writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(item.message));
}

Json ItemList(std::span<const KeptItem> items) {
  Json data = Json::array();
  for (const KeptItem& item : items) data.push_back(item.json);
  Json list = {{"object", "list"}, {"first_id", nullptr}, {"last_id", nullptr}, {"has_more", false}};
  if (!data.empty()) {
    list["first_id"] = data.front()["id"];
    list["last_id"] = data.back()["id"];
  }
  list["data"] = std::move(data);
  return list;
}

Json ItemPage(JsonReader& query, std::vector<KeptItem> items) {
  constexpr int64_t kUsual = 20, kMost = 100;
  const auto limit = static_cast<size_t>(query.Integer("limit", 1, kMost).value_or(kUsual));
  if (query.OneOf("order", {"asc", "desc"}).value_or("desc") == "desc") std::ranges::reverse(items);
  std::span<const KeptItem> rest = items;
  if (const auto after = query.String("after")) {
    const auto found = std::ranges::find_if(rest, [&](const KeptItem& item) { return item.json["id"] == *after; });
    if (found == rest.end()) query.Fail("after", "the id of an item of this list");
    rest = rest.subspan(static_cast<size_t>(found - rest.begin()) + 1);
  }
  Json page = ItemList(rest.first(std::min(limit, rest.size())));
  page["has_more"] = rest.size() > limit;
  return page;
}

}  // namespace skald::serve
