// SPDX-License-Identifier: Apache-2.0
//
// The words of JSON Schema that are supported, and how errors say where in a schema something stands.
// Source: JSON Schema, draft 2020-12; RFC 6901 for JSON pointers.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_NAMES_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_NAMES_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "skald/constraints/schema/detail/schema_value.h"

namespace skald::internal {

enum class SchemaType { kNull, kBoolean, kObject, kArray, kNumber, kInteger, kString };
inline constexpr std::string_view kTypeNames[] = {"null", "boolean", "object", "array", "number", "integer", "string"};

// The types that a keyword applies to.
enum class KeywordKind {
  kNote,    // for readers: changes nothing
  kType,    // "type"
  kWhole,   // describes a value completely, so that only notes and "type" may be beside it
  kObject,  // about values of one type, and without effect on others
  kArray,
  kString,
  kNumber,
};

struct Keyword {
  std::string_view name;
  KeywordKind kind;
};
inline constexpr Keyword kKeywords[] = {
    {"title", KeywordKind::kNote},
    {"description", KeywordKind::kNote},
    {"default", KeywordKind::kNote},
    {"examples", KeywordKind::kNote},
    {"deprecated", KeywordKind::kNote},
    {"readOnly", KeywordKind::kNote},
    {"writeOnly", KeywordKind::kNote},
    {"$schema", KeywordKind::kNote},
    {"$id", KeywordKind::kNote},
    {"$comment", KeywordKind::kNote},
    {"$defs", KeywordKind::kNote},
    {"definitions", KeywordKind::kNote},
    {"type", KeywordKind::kType},
    {"enum", KeywordKind::kWhole},
    {"const", KeywordKind::kWhole},
    {"anyOf", KeywordKind::kWhole},
    {"$ref", KeywordKind::kWhole},
    {"properties", KeywordKind::kObject},
    {"required", KeywordKind::kObject},
    {"additionalProperties", KeywordKind::kObject},
    {"items", KeywordKind::kArray},
    {"minItems", KeywordKind::kArray},
    {"maxItems", KeywordKind::kArray},
    {"pattern", KeywordKind::kString},
    {"format", KeywordKind::kString},
    {"minLength", KeywordKind::kString},
    {"maxLength", KeywordKind::kString},
    {"multipleOf", KeywordKind::kNumber},
    {"minimum", KeywordKind::kNumber},
    {"maximum", KeywordKind::kNumber},
    {"exclusiveMinimum", KeywordKind::kNumber},
    {"exclusiveMaximum", KeywordKind::kNumber},
};

inline std::optional<KeywordKind> KindOfKeyword(std::string_view name) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.name == name) return keyword.kind;
  }
  return std::nullopt;
}

inline std::optional<SchemaType> TypeNamed(std::string_view name) {
  const auto* const found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) return std::nullopt;
  return static_cast<SchemaType>(found - std::begin(kTypeNames));
}

// Whether a value is of a type. (1.0 would be an integer too, but is not written so.)
inline bool IsOfType(const SchemaValue& value, SchemaType type) {
  switch (value.kind) {
    case SchemaValue::Kind::kNull:
      return type == SchemaType::kNull;
    case SchemaValue::Kind::kBoolean:
      return type == SchemaType::kBoolean;
    case SchemaValue::Kind::kObject:
      return type == SchemaType::kObject;
    case SchemaValue::Kind::kArray:
      return type == SchemaType::kArray;
    case SchemaValue::Kind::kString:
      return type == SchemaType::kString;
    case SchemaValue::Kind::kInteger:
      return type == SchemaType::kInteger || type == SchemaType::kNumber;
    case SchemaValue::Kind::kNumber:
      break;
  }
  return type == SchemaType::kNumber;
}

// A place in a schema: a member or an item of another place.
inline std::string PlaceIn(std::string_view place, std::string_view name) {
  std::string inside(place);
  inside += '/';
  for (const char c : name) inside += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return inside;
}

// Returns the value at a JSON pointer, or null.
inline const SchemaValue* ValueAt(const SchemaValue& root, std::string_view pointer) {
  const SchemaValue* value = &root;
  while (!pointer.empty() && value != nullptr) {
    if (pointer[0] != '/') return nullptr;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string name;
    for (size_t i = 1; i < end; ++i) {
      const bool is_escape = pointer[i] == '~' && i + 1 < end;
      name += is_escape ? (pointer[++i] == '1' ? '/' : '~') : pointer[i];
    }
    pointer.remove_prefix(end);
    if (value->kind == SchemaValue::Kind::kArray) {
      size_t index = value->items.size();
      std::from_chars(name.data(), name.data() + name.size(), index);
      value = index < value->items.size() && std::to_string(index) == name ? &value->items[index] : nullptr;
    } else {
      value = value->Find(name);
    }
  }
  return value;
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_NAMES_H_
