// SPDX-License-Identifier: Apache-2.0
//
// Tools for chat templates that know none: a system text describes them, and calls and their results are parts of
// messages' texts, in the form ToolForm::kJson.

#ifndef SKALD_OPEN_TOOLS_DETAIL_TOOL_TEXT_H_
#define SKALD_OPEN_TOOLS_DETAIL_TOOL_TEXT_H_

#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/open/tools/calls/forms/detail/call_forms.h"

namespace skald::internal::calls {

using Json = nlohmann::ordered_json;

inline std::string DumpedJson(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

inline const Json& FunctionOf(const Json& tool) {
  return tool.is_object() && tool.contains("function") ? tool["function"] : tool;
}

// The functions of a list of tools as templates take it, as a list of JSON.
inline std::string FunctionsText(const Json& tools) {
  std::string text;
  for (const Json& tool : tools) text += (text.empty() ? "[" : ", ") + DumpedJson(FunctionOf(tool));
  return text.empty() ? "[]" : text + "]";
}

// A description of the tools, which are a list as templates take it, and of their calls in a form that CanWriteCalls.
inline std::string ToolDescription(const CallForm& form, const Json& tools) {
  std::string text = "You can call tools. Each line describes one, with a JSON Schema of its arguments:\n";
  for (const Json& tool : tools) text += DumpedJson(FunctionOf(tool)) + "\n";
  text += "\nTo call a tool, write its name and its arguments in this form, and nothing after it:\n";
  text.append(form.begin)
      .append(form.open)
      .append(form.call_begin)
      .append("NAME")
      .append(form.name_end)
      .append(form.notation == Notation::kPython ? "(...)" : "{...}");
  text.append(form.call_end).append(form.close).append(form.end).append("\n");
  if (form.several == Several::kApart) text += "You may write several calls, one after the other. ";
  if (form.form == ToolForm::kJson) text += "Their results will come between <tool_response> and </tool_response>. ";
  return text + "If no tool helps, answer without a call.";
}

// Whether CallText can write a form: arguments are JSON or Python, and nothing must be made up.
inline bool CanWriteCalls(const CallForm* form) {
  constexpr char kMadeUp = '%';
  return form != nullptr && form->call_begin.find(kMadeUp) == std::string_view::npos &&
         form->name_end.find(kMadeUp) == std::string_view::npos &&
         (form->notation == Notation::kObjects || form->notation == Notation::kNamesFirst ||
          form->notation == Notation::kJson || form->notation == Notation::kPython);
}

// Arguments, an object or its JSON, as a form has them. Values of Python are written as JSON, which means the same.
inline std::string ArgumentsText(const CallForm& form, const Json& arguments) {
  const std::string json = arguments.is_string() ? arguments.get<std::string>() : DumpedJson(arguments);
  if (form.notation != Notation::kPython) return json;
  Json object;
  if (!internal::ParseJson(json, object).empty() || !object.is_object()) return "()";
  std::string text = "(";
  for (const auto& [name, value] : object.items()) {
    text.append(text.size() == 1 ? "" : ", ").append(name).append("=").append(DumpedJson(value));
  }
  return text + ")";
}

// The calls of a message as its text, in a form that CanWriteCalls.
inline std::string CallText(const CallForm& form, const Json& calls) {
  std::string text;
  for (const Json& call : calls) {
    const Json& function = FunctionOf(call);
    if (!function.is_object()) continue;
    const Json arguments = function.value("arguments", Json::object());
    const bool is_apart = text.empty() || form.several != Several::kTogether;
    if (!text.empty() && is_apart) text.append(form.close).append(form.end).append(form.apart_by);
    is_apart ? text.append(form.begin).append(form.open) : text.append(form.between);
    text.append(form.call_begin).append(function.value("name", "")).append(form.name_end);
    text.append(ArgumentsText(form, arguments)).append(form.call_end);
  }
  if (!text.empty()) text.append(form.close).append(form.end);
  return text;
}

inline void AppendText(std::string_view text, std::string_view between, Json& message) {
  Json& content = message["content"];
  if (!content.is_string()) content = "";
  auto& whole = content.get_ref<std::string&>();
  if (!whole.empty()) whole += between;
  whole += text;
}

// A message whose calls are part of its text.
inline void WriteCallsInText(const CallForm& form, Json& message) {
  if (!message.is_object() || !message.contains("tool_calls")) return;
  if (message["tool_calls"].is_array()) AppendText(CallText(form, message["tool_calls"]), "\n", message);
  message.erase("tool_calls");
}

inline bool IsOf(const Json& message, std::string_view role) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) return false;
  return message["role"].get_ref<const std::string&>() == role;
}

inline bool HasText(const Json& message) {
  return message.is_object() && message.contains("content") && message["content"].is_string();
}

// Adds the messages to a list, calls and results as texts: results are what the user says, together with what they say
// next.
inline void AddWithCallsAsText(const Json& messages, Json& list) {
  bool is_response = false;  // the last message is
  for (const Json& message : messages) {
    if (IsOf(message, "tool")) {
      const std::string text = HasText(message)              ? message["content"].get<std::string>()
                               : message.contains("content") ? DumpedJson(message["content"])
                                                             : "";
      if (!is_response) list.push_back({{"role", "user"}, {"content", ""}});
      AppendText("<tool_response>\n" + text + "\n</tool_response>", "\n", list.back());
      is_response = true;
      continue;
    }
    if (is_response && IsOf(message, "user") && HasText(message)) {
      AppendText(message["content"].get_ref<const std::string&>(), "\n\n", list.back());
    } else {
      list.push_back(message);
      WriteCallsInText(*FindForm(ToolForm::kJson), list.back());
    }
    is_response = false;
  }
}

// Adds them with a description of the tools: in the system's text, or in the first of the user where a template has no
// place for a system's.
inline void AddWithToolText(const Json& messages, const Json& tools, bool has_system, Json& list) {
  const bool has_tools = tools.is_array() && !tools.empty();
  const std::string text = has_tools ? ToolDescription(*FindForm(ToolForm::kJson), tools) : "";
  const std::string_view role = has_system ? "system" : "user";
  const auto is_place = [&](const Json& message) { return IsOf(message, role) && HasText(message); };
  if (!text.empty() && has_system && !std::ranges::any_of(messages, is_place)) {
    list.push_back({{"role", "system"}, {"content", text}});
  }
  const bool is_said = !list.empty();
  AddWithCallsAsText(messages, list);
  const auto place = std::ranges::find_if(list, is_place);
  if (text.empty() || is_said || place == list.end()) return;
  auto& content = (*place)["content"].get_ref<std::string&>();
  has_system ? AppendText(text, "\n\n", *place) : void(content.insert(0, text + "\n\n"));
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_TOOL_TEXT_H_
