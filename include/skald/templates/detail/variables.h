// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/variables.h.

#ifndef SKALD_TEMPLATES_DETAIL_VARIABLES_H_
#define SKALD_TEMPLATES_DETAIL_VARIABLES_H_

#include "skald/templates/variables.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/marked_text.h"

namespace skald {

namespace internal {

namespace jinja {

constexpr bool IsWellKnownRole(std::string_view role) {
  constexpr std::string_view kRoles[] = {"system",         "developer", "user",       "assistant",
                                         "model",          "tool",      "function",   "tool_response",
                                         "tool_responses", "ipython",   "observation"};
  return std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles);
}

SKALD_INLINE Value VariableReader::ReadVariable(std::string_view name, const Json& json) {
  if (IsSpecialTokenName(name) && json.is_string()) return machine_.NewText(json.get_ref<const std::string&>());
  return Read(json, name == "messages" ? 2 : 0);
}

SKALD_INLINE Value VariableReader::Read(const Json& json, int levels_to_role) {
  const Machine::Level level(machine_);
  if (!level) return {};
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::Bool(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::Int(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return Value::Int(json.get<uint64_t>());
    case Json::value_t::number_float:
      return Value::Float(json.get<double>());
    case Json::value_t::string:
      return machine_.NewText(MarkedText(json.get_ref<const std::string&>(), Author::kMessage));
    case Json::value_t::array:
      return ReadArray(json, levels_to_role);
    case Json::value_t::object:
      return ReadObject(json, levels_to_role);
    default:
      return Value::None();
  }
}

SKALD_INLINE Value VariableReader::ReadArray(const Json& json, int levels_to_role) {
  std::vector<Value> items;
  for (const Json& item : json) {
    if (!machine_.ok()) return {};
    items.push_back(Read(item, levels_to_role == 2 ? 1 : 0));
  }
  return machine_.NewList(std::move(items));
}

SKALD_INLINE Value VariableReader::ReadObject(const Json& json, int levels_to_role) {
  Value dict = machine_.NewDict();
  for (const auto& [name, item] : json.items()) {
    if (!machine_.ok()) return {};
    const bool is_role = levels_to_role == 1 && name == "role" && item.is_string() &&
                         IsWellKnownRole(item.template get_ref<const std::string&>());
    Value key = machine_.NewText(MarkedText(name, Author::kMessage));
    machine_.Append(dict.dict(), std::move(key),
                    is_role ? machine_.NewText(item.template get_ref<const std::string&>()) : Read(item, 0));
  }
  return dict;
}

}  // namespace jinja
}  // namespace internal
}  // namespace skald

#endif  // SKALD_TEMPLATES_DETAIL_VARIABLES_H_
