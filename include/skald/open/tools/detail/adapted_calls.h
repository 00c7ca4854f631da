// SPDX-License-Identifier: Apache-2.0
//
// Messages with calls as some chat templates want them and others do not: arguments as a text, ids of nine letters and
// digits. A template does not say what it wants, but fails where it does not get it.

#ifndef SKALD_OPEN_TOOLS_DETAIL_ADAPTED_CALLS_H_
#define SKALD_OPEN_TOOLS_DETAIL_ADAPTED_CALLS_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/open/tools/calls/forms/detail/call_forms.h"
#include "skald/open/tools/detail/tool_text.h"
#include "skald/open/tools/output_format.h"

namespace skald::internal::calls {

inline bool HaveCalls(const Json& messages) {
  return messages.is_array() && std::ranges::any_of(messages, [](const Json& message) {
           return message.is_object() && message.contains("tool_calls") && message["tool_calls"].is_array();
         });
}

// Arguments that are objects as texts.
inline void WriteArguments(Json& messages) {
  for (Json& message : messages) {
    if (!message.is_object() || !message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
    for (Json& call : message["tool_calls"]) {
      if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
      Json& function = call["function"];
      if (function.contains("arguments") && !function["arguments"].is_string()) {
        function["arguments"] = DumpedJson(function["arguments"]);
      }
    }
  }
}

// The form of calls that must be part of messages' texts, because the template writes none; null: it does.
inline const CallForm* UnwrittenForm(std::string_view template_source) {
  if (template_source.find("tool_calls") != template_source.npos) return nullptr;
  const CallForm* const form = FindForm(OutputFormatOf(template_source).tools);
  return CanWriteCalls(form) ? form : nullptr;
}

// Whether a template writes either a message's calls or its content, even if that is an empty text.
inline bool WantsCallsAlone(std::string_view template_source) {
  return template_source.find("message['role'] == 'assistant' and message['content'] is none") != template_source.npos;
}

// Without what was said besides calls: they matter more.
inline void LeaveCallsAlone(Json& messages) {
  for (Json& message : messages) {
    if (message.is_object() && message.contains("tool_calls")) message["content"] = nullptr;
  }
}

// Whether a template finds tools as a text in the system's message.
inline bool WantsToolsInSystem(std::string_view template_source) {
  return template_source.find("message['tools']") != template_source.npos;
}

// The form in which a system's text must describe tools, because the template writes calls but no tools; null: it
// writes both.
inline const CallForm* UntoldForm(std::string_view template_source) {
  for (const std::string_view name : {"tools", "functions"}) {
    if (template_source.find(name) != template_source.npos) return nullptr;
  }
  const CallForm* const form = FindForm(OutputFormatOf(template_source).tools);
  return CanWriteCalls(form) ? form : nullptr;
}

inline void DescribeTools(const CallForm& form, const Json& tools, Json& messages) {
  if (messages.empty() || !IsOf(messages[0], "system") || !HasText(messages[0])) {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
  }
  AppendText(ToolDescription(form, tools), "\n\n", messages[0]);
}

inline void GiveToolsToSystem(const Json& tools, Json& messages) {
  if (messages.empty() || !IsOf(messages[0], "system")) {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
  }
  messages[0]["tools"] = FunctionsText(tools);
}

// Numbers calls in their order, in the calls and in the results that name them.
inline void ShortenIds(Json& messages) {
  constexpr size_t kLength = 9;
  std::map<std::string, std::string, std::less<>> ids;
  const auto shorten = [&](Json& holder, const char* name) {
    if (!holder.is_object() || !holder.contains(name) || !holder[name].is_string()) return;
    const std::string id = holder[name];
    const std::string number = std::to_string(ids.size());
    const std::string next = std::string(kLength - std::min(kLength, number.size()), '0') + number;
    holder[name] = ids.try_emplace(id, next).first->second;
  };
  for (Json& message : messages) {
    if (message.is_object() && message.contains("tool_calls") && message["tool_calls"].is_array()) {
      for (Json& call : message["tool_calls"]) shorten(call, "id");
    }
    shorten(message, "tool_call_id");
  }
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_ADAPTED_CALLS_H_
