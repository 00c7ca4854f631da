// SPDX-License-Identifier: Apache-2.0
//
// Names after a dot or in brackets: x.name looks for a method and then for a key, x["name"] for a key and then for a
// method. A missing one is undefined and remembers why.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_ATTRIBUTES_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_ATTRIBUTES_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/slices.h"
#include "skald/templates/values/detail/numbers.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// The variable `loop`.
struct Loop : Object {
  std::vector<Value> items;
  size_t index = 0;
  size_t depth = 1;
  std::optional<std::vector<Value>> seen;  // by loop.changed
  const Statement* statement = nullptr;    // of a recursive loop, with the variables around it
  Scope* scope = nullptr;
};

// Hands out its values in turn.
struct Cycler : Object {
  std::vector<Value> values;
  size_t next = 0;
};

// Is called with nothing for an empty text, and from then on for a separator.
struct Joiner : Object {
  Value separator;
  bool was_called = false;
};

inline Value LoopAttribute(Machine& machine, const Value& subject, std::string_view name, bool& found) {
  const auto& loop = static_cast<const Loop&>(*subject.object());
  const size_t count = loop.items.size();
  const auto number = [](size_t n) { return Value::Int(static_cast<Integer>(n)); };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "revindex") return number(count - loop.index);
  if (name == "revindex0") return number(count - loop.index - 1);
  if (name == "first") return Value::Bool(loop.index == 0);
  if (name == "last") return Value::Bool(loop.index + 1 == count);
  if (name == "length") return number(count);
  if (name == "depth") return number(loop.depth);
  if (name == "depth0") return number(loop.depth - 1);
  if (name == "previtem") {
    return loop.index > 0 ? loop.items[loop.index - 1] : machine.NewUndefined("there is no previous item");
  }
  if (name == "nextitem") {
    return loop.index + 1 < count ? loop.items[loop.index + 1] : machine.NewUndefined("there is no next item");
  }
  found = false;
  return {};
}

// An attribute that belongs to the value itself, as methods do. Names that begin with an underscore are not for
// templates.
inline std::optional<Value> OwnAttribute(Machine& machine, const Value& value, std::string_view name) {
  if (name.starts_with('_')) return std::nullopt;
  if (const Builtin* const method = machine.find.method(value, name)) return machine.NewFunction(method, value);
  bool found = true;
  if (value.Is(Type::kLoop)) {
    Value attribute = LoopAttribute(machine, value, name, found);
    if (found) return attribute;
  } else if (value.Is(Type::kFunction) && name == "name") {
    const auto& function = static_cast<const Function&>(*value.object());
    if (function.macro != nullptr) return machine.NewText(function.macro->name);
  } else if (value.Is(Type::kTuple) && value.sequence().shown == "group") {
    if (name == "grouper") return value.sequence().items[0];
    if (name == "list") return value.sequence().items[1];
  } else if (value.Is(Type::kCycler) && name == "current") {
    const auto& cycler = static_cast<const Cycler&>(*value.object());
    return cycler.values[cycler.next];
  } else if (value.Is(Type::kNamespace)) {
    if (const Value* const attribute = FindKey(machine, value.dict(), name)) return *attribute;
  } else if (value.IsWhole() && name == "real") {
    return Value::Int(value.integer());
  }
  return std::nullopt;
}

inline std::optional<Value> OwnItem(Machine& machine, const Value& value, const Value& key) {
  if (value.Is(Type::kDict)) {
    const Value* const found = FindKey(machine, value.dict(), key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  return key.IsWhole() ? ElementAt(machine, value, key.integer()) : std::nullopt;
}

inline Value NotThere(Machine& machine, const Value& value, std::string_view name) {
  const std::string_view type = TypeName(value);
  if (value.Is(Type::kNone)) return machine.NewUndefined(Concat({"'None' has no attribute '", name, "'"}));
  return machine.NewUndefined(Concat({"'", type, " object' has no attribute '", name, "'"}));
}

inline Value GetAttribute(Machine& machine, const Value& value, std::string_view name) {
  if (value.Is(Type::kUndefined)) return machine.Fail(value.WhyUndefined());
  if (std::optional<Value> own = OwnAttribute(machine, value, name)) return *own;
  if (value.Is(Type::kDict)) {
    if (const Value* const item = FindKey(machine, value.dict(), name)) return *item;
  }
  return NotThere(machine, value, name);
}

inline Value GetItem(Machine& machine, const Value& value, const Value& key) {
  if (value.Is(Type::kUndefined)) return machine.Fail(value.WhyUndefined());
  if (std::optional<Value> own = OwnItem(machine, value, key)) return *own;
  if (!machine.ok()) return {};
  if (!key.Is(Type::kText)) {
    return machine.NewUndefined(Concat({TypeName(value), " object has no element ",
                                        key.IsWhole() ? IntegerText(key.integer()) : std::string(TypeName(key))}));
  }
  if (std::optional<Value> own = OwnAttribute(machine, value, key.view())) return *own;
  return NotThere(machine, value, key.view());
}

// Follows a path like "function.name" or "0.role", with `fallback` for what is not there, unless that is null.
inline Value GetPath(Machine& machine, Value value, const Value& path, const Value* fallback) {
  if (path.IsWhole()) return GetItem(machine, value, path);
  std::string_view rest = path.Is(Type::kText) ? path.view() : "";
  while (machine.Step()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    const auto index = is_index ? ReadInteger(part, 10) : std::nullopt;
    value = GetItem(machine, value, index ? Value::Int(*index) : machine.NewText(part));
    if (fallback != nullptr && value.Is(Type::kUndefined)) value = *fallback;
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  return value;
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_ATTRIBUTES_H_
