// SPDX-License-Identifier: Apache-2.0
//
// Calls of tools that are objects of JSON: a name, and arguments under one of the names that models use for them.

#ifndef SKALD_OPEN_TOOLS_DETAIL_JSON_CALLS_H_
#define SKALD_OPEN_TOOLS_DETAIL_JSON_CALLS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "skald/open/tools/detail/json_text.h"
#include "skald/open/tools/output_part.h"

namespace skald::internal::calls {

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

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_JSON_CALLS_H_
