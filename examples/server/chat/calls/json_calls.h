// SPDX-License-Identifier: Apache-2.0
//
// Calls of tools that are objects of JSON: a name, and arguments under one of the names that models use for them.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_CALLS_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_CALLS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "server/chat/calls/json_text.h"
#include "server/chat/output_part.h"

namespace skald::serve {

// The call that an object is; nothing where it is something else.
inline std::optional<OutputPart> CallOf(std::string_view json) {
  const auto members = MembersOf(json);
  if (!members) return std::nullopt;
  std::optional<std::string> name;
  std::optional<std::string_view> arguments;
  for (const auto& [key, value] : *members) {
    if (key == "name") name = UnquotedJson(value);
    if (key == "arguments" || key == "parameters") arguments = value;
  }
  if (!name || !arguments) return std::nullopt;
  // Some models write the arguments' JSON as a string.
  const auto spelled = UnquotedJson(*arguments);
  if (spelled && !MembersOf(*spelled)) return std::nullopt;
  return OutputPart{OutputPart::Kind::kToolCall, spelled ? *spelled : WithoutSpace(*arguments), *name};
}

// Calls of a text that is one object, or a list of them; nothing where it is something else.
inline std::vector<OutputPart> CallsOf(std::string_view json) {
  if (auto call = CallOf(json)) return {*std::move(call)};
  std::vector<OutputPart> calls;
  const auto items = ItemsOf(json);
  for (size_t i = 0; items && i < items->size(); ++i) {
    auto call = CallOf((*items)[i]);
    if (!call) return {};
    calls.push_back(*std::move(call));
  }
  return calls;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_CALLS_H_
