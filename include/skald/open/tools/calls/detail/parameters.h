// SPDX-License-Identifier: Apache-2.0
//
// Arguments between tags, as <parameter=KEY>value</parameter>. The meaning of a value depends on the tool's schema:
// texts are written as they are, other values as JSON. The filter that such calls are held to and the parser that reads
// them must agree on this, so it is said here alone.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_PARAMETERS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_PARAMETERS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

enum class ParameterKind {
  kText,    // a string, or nothing that the schema tells
  kJson,    // anything but strings
  kEither,  // a text, and where it reads as JSON of one of the other types, that
};

// Whether a property can be written in this form: its name must not end the tag, which is looked for no further than so
// many bytes.
inline constexpr size_t kMostParameterName = 1024;
inline bool IsParameterName(std::string_view name, std::string_view key_end) {
  return name.size() <= kMostParameterName && name.find(Trimmed(key_end)) == name.npos;
}

using Json = nlohmann::ordered_json;

inline const char* TypeOf(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  return value.is_number() ? "number" : "null";
}

// The schema that a reference into `root` names, or null.
inline const Json* SchemaAt(const Json& reference, const Json& root) {
  if (!reference.is_string()) return nullptr;
  const auto& text = reference.get_ref<const std::string&>();
  if (!text.starts_with("#/")) return text == "#" ? &root : nullptr;
  const Json* at = &root;
  for (size_t begin = 2; begin <= text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    if (!at->is_object()) return nullptr;
    const auto member = at->find(text.substr(begin, end - begin));
    if (member == at->end()) return nullptr;
    at = &*member;
    begin = end + 1;
  }
  return at;
}

inline const Json* Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// The types that a value may have, by the names of JSON Schema; of an integer only "integer". Empty where the schema
// does not say. `root` is the schema of all parameters, in which references are looked up.
inline std::vector<std::string> TypesOf(const Json& schema, const Json& root) {
  constexpr size_t kMostSchemas = 256;  // references may lead in a circle
  std::vector<std::string> types;
  const auto add = [&](const char* type) {
    if (std::ranges::find(types, type) == types.end()) types.emplace_back(type);
  };
  std::vector<const Json*> open = {&schema};
  for (size_t i = 0; i < open.size(); ++i) {
    const Json& one = *open[i];
    if (i == kMostSchemas || !one.is_object()) return {};  // `true`, or nothing that can be followed: any value
    const Json* const type = Member(one, "type");
    const Json* const values = Member(one, "enum");
    const Json* const value = Member(one, "const");
    const Json* const reference = Member(one, "$ref");
    const Json* choices = Member(one, "anyOf");
    if (choices == nullptr) choices = Member(one, "oneOf");
    if (type != nullptr && type->is_string()) {
      add(type->get_ref<const std::string&>().c_str());
    } else if (type != nullptr && type->is_array()) {
      for (const Json& name : *type) {
        if (name.is_string()) add(name.get_ref<const std::string&>().c_str());
      }
    } else if (value != nullptr) {
      add(TypeOf(*value));
    } else if (values != nullptr && values->is_array()) {
      for (const Json& each : *values) add(TypeOf(each));
    } else if (choices != nullptr && choices->is_array()) {
      for (const Json& choice : *choices) open.push_back(&choice);
    } else if (const Json* const found = reference == nullptr ? nullptr : SchemaAt(*reference, root)) {
      open.push_back(found);
    } else if (Member(one, "properties") != nullptr) {
      add("object");
    } else if (Member(one, "items") != nullptr) {
      add("array");
    } else {
      return {};
    }
  }
  return types;
}

// Whether the schema of a tool says in so many words that an argument is a string.
inline bool IsTextOf(const Tool& tool, std::string_view name) {
  const Json& root = TreeOf(tool.parameters);
  const Json* const properties = root.is_object() ? Member(root, "properties") : nullptr;
  if (properties == nullptr || !properties->is_object()) return false;
  const auto property = properties->find(std::string(name));
  if (property == properties->end() || !property->is_object()) return false;
  const Json* const type = Member(*property, "type");
  return type != nullptr && type->is_string() && type->get_ref<const std::string&>() == "string";
}

inline ParameterKind KindOf(const std::vector<std::string>& types) {
  const bool may_be_text = types.empty() || std::ranges::find(types, "string") != types.end();
  if (!may_be_text) return ParameterKind::kJson;
  return types.size() <= 1 ? ParameterKind::kText : ParameterKind::kEither;
}

// Whether a value of JSON, as text, is of one of the types. Any value is if no types are given.
inline bool IsOfTypes(std::string_view json, const std::vector<std::string>& types) {
  if (!IsJson(json)) return false;
  json = Trimmed(json);
  const char first = json.front();
  const auto has = [&](const char* type) { return types.empty() || std::ranges::find(types, type) != types.end(); };
  switch (first) {
    case '{':
      return has("object");
    case '[':
      return has("array");
    case '"':
      return has("string");
    case 't':
    case 'f':
      return has("boolean");
    case 'n':
      return has("null");
    default:
      return has("number") || (has("integer") && json.find_first_of(".eE") == json.npos);
  }
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_PARAMETERS_H_
