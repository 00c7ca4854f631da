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

class VariableReader {
 public:
  using Json = nlohmann::ordered_json;

  explicit VariableReader(Machine& machine) : machine_(machine) {}

  Value ReadVariable(std::string_view name, const Json& json);

 private:
  // `levels_to_role` is how deep a role would be: 2 for the list of messages, 1 for a message, 0 if there is none.
  Value Read(const Json& json, int levels_to_role);

  Value ReadArray(const Json& json, int levels_to_role);

  Value ReadObject(const Json& json, int levels_to_role);

  Machine& machine_;
};

inline Value VariableReader::ReadVariable(std::string_view name, const Json& json) {
  if (IsSpecialTokenName(name) && json.is_string()) return machine_.NewText(json.get_ref<const std::string&>());
  return Read(json, name == "messages" ? 2 : 0);
}

inline Value VariableReader::Read(const Json& json, int levels_to_role) {
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

inline Value VariableReader::ReadArray(const Json& json, int levels_to_role) {
  std::vector<Value> items;
  for (const Json& item : json) {
    if (!machine_.ok()) return {};
    items.push_back(Read(item, levels_to_role == 2 ? 1 : 0));
  }
  return machine_.NewList(std::move(items));
}

inline Value VariableReader::ReadObject(const Json& json, int levels_to_role) {
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

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_DETAIL_VARIABLES_H_
