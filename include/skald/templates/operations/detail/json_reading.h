// SPDX-License-Identifier: Apache-2.0
//
// Values of JSON that a template did not write: their texts are the message's.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_READING_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_READING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/text/marked_text.h"
#include "skald/templates/values/machine.h"
#include "skald/templates/values/value.h"

namespace skald::internal::jinja {

inline Value ValueOfJson(Machine& machine, const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  const Machine::Level level(machine);
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
      return machine.NewText(MarkedText(json.get_ref<const std::string&>(), Author::kMessage));
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) {
        if (!machine.ok()) return {};
        items.push_back(ValueOfJson(machine, item));
      }
      return machine.NewList(std::move(items));
    }
    case Json::value_t::object: {
      Value dict = machine.NewDict();
      for (const auto& [name, item] : json.items()) {
        if (!machine.ok()) return {};
        Value key = machine.NewText(MarkedText(name, Author::kMessage));
        machine.Append(dict.dict(), std::move(key), ValueOfJson(machine, item));
      }
      return dict;
    }
    default:
      return Value::None();
  }
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_READING_H_
