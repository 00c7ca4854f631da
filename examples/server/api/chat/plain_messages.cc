// SPDX-License-Identifier: Apache-2.0

#include "server/api/chat/plain_messages.h"

#include <string>
#include <utility>

namespace skald::serve {
namespace {

std::string Joined(const Json& first, const Json& second) {
  const std::string &one = first.get_ref<const std::string&>(), &other = second.get_ref<const std::string&>();
  return one + (one.empty() || other.empty() ? "" : "\n\n") + other;
}

// Adds what `next` says to `message`, which is of the same role.
void Join(Json& message, const Json& next) {
  message["content"] = Joined(message["content"], next["content"]);
  if (!next.contains("tool_calls")) return;
  for (const Json& call : next["tool_calls"]) message["tool_calls"].push_back(call);
}

Json ByTurns(const Json& messages) {
  Json turns = Json::array();
  for (Json message : messages) {
    const bool is_first = turns.empty() || turns.back()["role"] == "system";
    if (message["role"] == "system" && !is_first) message["role"] = "user";
    // Each result of a tool is one of its own.
    if (!turns.empty() && turns.back()["role"] == message["role"] && message["role"] != "tool") {
      Join(turns.back(), message);
    } else {
      turns.push_back(std::move(message));
    }
  }
  return turns;
}

Json WithoutSystem(const Json& messages) {
  Json others = Json::array();
  for (size_t i = 1; i < messages.size(); ++i) others.push_back(messages[i]);
  if (!others.empty() && others[0]["role"] == "user") {
    others[0]["content"] = Joined(messages[0]["content"], others[0]["content"]);
  } else {
    others.insert(others.begin(), Json{{"role", "user"}, {"content", messages[0]["content"]}});
  }
  return others;
}

}  // namespace

std::vector<Json> PlainerMessages(const Json& messages) {
  std::vector<Json> forms;
  if (messages.empty()) return forms;
  Json turns = ByTurns(messages);
  const bool has_system = turns[0]["role"] == "system";
  Json others = has_system ? WithoutSystem(turns) : Json();
  if (turns != messages) forms.push_back(std::move(turns));
  if (has_system) forms.push_back(std::move(others));
  return forms;
}

}  // namespace skald::serve
