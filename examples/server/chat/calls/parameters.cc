// SPDX-License-Identifier: Apache-2.0

#include "server/chat/calls/parameters.h"

#include <algorithm>
#include <utility>

#include "server/chat/calls/json_text.h"

namespace skald::serve {
namespace {

using Json = nlohmann::ordered_json;

const char* TypeOf(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  return value.is_number() ? "number" : "null";
}

// The schema that a reference into `root` names, or null.
const Json* Find(const Json& reference, const Json& root) {
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

const Json* Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> TypesOf(const Json& schema, const Json& root) {
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
    } else if (const Json* const found = reference == nullptr ? nullptr : Find(*reference, root)) {
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

ParameterKind KindOf(const std::vector<std::string>& types) {
  const bool may_be_text = types.empty() || std::ranges::find(types, "string") != types.end();
  if (!may_be_text) return ParameterKind::kJson;
  return types.size() <= 1 ? ParameterKind::kText : ParameterKind::kEither;
}

bool IsOfTypes(std::string_view json, const std::vector<std::string>& types) {
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

}  // namespace skald::serve
