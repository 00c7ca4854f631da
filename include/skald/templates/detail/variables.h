// SPDX-License-Identifier: Apache-2.0
//
// The variables of a rendering, from JSON. Messages are the authors of texts in them, with two exceptions that
// templates need: the spellings of special tokens, and the role of a message if it is one of the well-known words,
// since there are templates that write '<|' + message.role + '|>'.

#ifndef SKALD_TEMPLATES_DETAIL_VARIABLES_H_
#define SKALD_TEMPLATES_DETAIL_VARIABLES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/text/marked_text.h"
#include "skald/templates/operations/detail/json_reading.h"
#include "skald/templates/special_tokens.h"
#include "skald/templates/values/machine.h"
#include "skald/templates/values/value.h"

namespace skald::internal::jinja {

constexpr bool IsWellKnownRole(std::string_view role) {
  constexpr std::string_view kRoles[] = {"system",         "developer", "user",       "assistant",
                                         "model",          "tool",      "function",   "tool_response",
                                         "tool_responses", "ipython",   "observation"};
  return std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles);
}

// A message, of which a role that is well known counts as the template's.
inline Value ValueOfMessage(Machine& machine, const nlohmann::ordered_json& message) {
  if (!message.is_object()) return ValueOfJson(machine, message);
  Value dict = machine.NewDict();
  for (const auto& [name, item] : message.items()) {
    if (!machine.ok()) return {};
    const bool is_role =
        name == "role" && item.is_string() && IsWellKnownRole(item.template get_ref<const std::string&>());
    Value key = machine.NewText(MarkedText(name, Author::kMessage));
    machine.Append(dict.dict(), std::move(key),
                   is_role ? machine.NewText(item.template get_ref<const std::string&>()) : ValueOfJson(machine, item));
  }
  return dict;
}

inline Value ValueOfVariable(Machine& machine, std::string_view name, const nlohmann::ordered_json& json) {
  if (IsSpecialTokenName(name) && json.is_string()) return machine.NewText(json.get_ref<const std::string&>());
  if (name != "messages" || !json.is_array()) return ValueOfJson(machine, json);
  std::vector<Value> messages;
  for (const nlohmann::ordered_json& message : json) {
    if (!machine.ok()) return {};
    messages.push_back(ValueOfMessage(machine, message));
  }
  return machine.NewList(std::move(messages));
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_DETAIL_VARIABLES_H_
