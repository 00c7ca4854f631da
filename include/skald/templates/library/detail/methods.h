// SPDX-License-Identifier: Apache-2.0
//
// The methods of lists, dictionaries and what else templates call methods of. Those that change a list or dictionary
// are there too: the sandbox that models' templates were written for forbids them, but some templates use them.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_METHODS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_METHODS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/library/detail/arguments.h"
#include "skald/templates/library/detail/text_methods.h"
#include "skald/templates/operations/detail/attributes.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

inline std::vector<Value> EntriesOf(Machine& machine, const Dict& dict) {
  std::vector<Value> entries;
  for (const auto& [key, value] : dict.entries) {
    if (!machine.ok()) break;
    entries.push_back(machine.NewTuple({key, value}));
  }
  return entries;
}

inline Value ItemsOfDict(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewSequence(Type::kView, EntriesOf(machine, subject.dict()), "dict_items");
}

inline Value KeysOfDict(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewSequence(Type::kView, Elements(machine, subject), "dict_keys");
}

inline Value ValuesOfDict(Machine& machine, const Value& subject, const Inputs&) {
  std::vector<Value> values;
  for (const auto& entry : subject.dict().entries) values.push_back(entry.second);
  return machine.NewSequence(Type::kView, std::move(values), "dict_values");
}

inline Value GetFromDict(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (const Value* const found = FindKey(machine, subject.dict(), *inputs[0])) return *found;
  return inputs[1] == nullptr ? Value::None() : *inputs[1];
}

inline Value SetDefaultInDict(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (const Value* const found = FindKey(machine, subject.dict(), *inputs[0])) return *found;
  const Value value = inputs[1] == nullptr ? Value::None() : *inputs[1];
  SetKey(machine, subject.dict(), *inputs[0], value);
  return value;
}

inline Value PopFromDict(Machine& machine, const Value& subject, const Inputs& inputs) {
  auto& entries = subject.dict().entries;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (!Equal(machine, entry->first, *inputs[0])) continue;
    const Value value = entry->second;
    entries.erase(entry);
    return value;
  }
  return inputs[1] == nullptr ? machine.Fail("the dictionary does not have the key") : *inputs[1];
}

// Adds what a dictionary, or a list of pairs, holds.
inline void AddEntries(Machine& machine, Dict& dict, const Value& from) {
  if (from.Is(Type::kDict)) {
    const auto entries = from.dict().entries;  // which may be those of `dict`
    for (const auto& [key, value] : entries) SetKey(machine, dict, key, value);
    return;
  }
  for (const Value& pair : Elements(machine, from)) {
    const std::vector<Value> parts = Elements(machine, pair);
    if (machine.ok() && parts.size() != 2) machine.Fail("a dictionary is made of pairs");
    if (!machine.ok()) return;
    SetKey(machine, dict, parts[0], parts[1]);
  }
}

inline Value UpdateDict(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (inputs[0] != nullptr) AddEntries(machine, subject.dict(), *inputs[0]);
  for (const auto& [name, value] : *inputs.named) SetKey(machine, subject.dict(), machine.NewText(name), value);
  return Value::None();
}

inline Value CopyDict(Machine& machine, const Value& subject, const Inputs&) {
  Value copy = machine.NewDict();
  for (const auto& [key, value] : subject.dict().entries) machine.Append(copy.dict(), key, value);
  return copy;
}

inline Value ClearDict(Machine&, const Value& subject, const Inputs&) {
  subject.dict().entries.clear();
  return Value::None();
}

inline constexpr Builtin kDictMethods[] = {
    {"items", "", ItemsOfDict},
    {"keys", "", KeysOfDict},
    {"values", "", ValuesOfDict},
    {"get", "key [default]", GetFromDict},
    {"setdefault", "key [default]", SetDefaultInDict},
    {"pop", "key [default]", PopFromDict},
    {"update", "[other] **", UpdateDict},
    {"copy", "", CopyDict},
    {"clear", "", ClearDict},
};

inline Value AppendToList(Machine& machine, const Value& subject, const Inputs& inputs) {
  machine.Append(subject.sequence(), *inputs[0]);
  return Value::None();
}

inline Value ExtendList(Machine& machine, const Value& subject, const Inputs& inputs) {
  for (const Value& value : Elements(machine, *inputs[0])) machine.Append(subject.sequence(), value);
  return Value::None();
}

// Where an index, which may count from the end, stands in a list; beyond an end it stands at that end.
inline std::ptrdiff_t PlaceInList(const std::vector<Value>& items, Integer index) {
  const auto size = static_cast<Integer>(items.size());
  return static_cast<std::ptrdiff_t>(std::clamp<Integer>(index < 0 ? std::max(index, -size) + size : index, 0, size));
}

inline Value InsertIntoList(Machine& machine, const Value& subject, const Inputs& inputs) {
  std::vector<Value>& items = subject.sequence().items;
  machine.Step(items.size());
  machine.heap().meter().used += sizeof(Value);
  items.insert(items.begin() + PlaceInList(items, IntegerInput(machine, inputs[0], 0)), *inputs[1]);
  return Value::None();
}

inline Value PopFromList(Machine& machine, const Value& subject, const Inputs& inputs) {
  std::vector<Value>& items = subject.sequence().items;
  const Integer index = IntegerInput(machine, inputs[0], -1), size = static_cast<Integer>(items.size());
  if (index >= size || index < -size) return machine.Fail("there is no element of that index to take out");
  const auto place = items.begin() + PlaceInList(items, index);
  const Value value = *place;
  machine.Step(items.size());
  items.erase(place);
  return value;
}

inline Value IndexInList(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::vector<Value>& items = subject.sequence().items;
  for (size_t i = 0; i < items.size() && machine.ok(); ++i) {
    if (Equal(machine, items[i], *inputs[0])) return Value::Int(static_cast<Integer>(i));
  }
  return machine.Fail("the list does not have the element");
}

inline Value RemoveFromList(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Value place = IndexInList(machine, subject, inputs);
  std::vector<Value>& items = subject.sequence().items;
  if (machine.ok()) items.erase(items.begin() + static_cast<std::ptrdiff_t>(place.integer()));
  return Value::None();
}

inline Value CountInList(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::vector<Value>& items = subject.sequence().items;
  const auto is_same = [&](const Value& item) { return Equal(machine, item, *inputs[0]); };
  return Value::Int(std::count_if(items.begin(), items.end(), is_same));
}

inline Value ReverseList(Machine& machine, const Value& subject, const Inputs&) {
  machine.Step(subject.sequence().items.size());
  std::reverse(subject.sequence().items.begin(), subject.sequence().items.end());
  return Value::None();
}

inline Value CopyList(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewList(Elements(machine, subject));
}

inline Value ClearList(Machine&, const Value& subject, const Inputs&) {
  subject.sequence().items.clear();
  return Value::None();
}

inline constexpr Builtin kListMethods[] = {
    {"append", "object", AppendToList}, {"extend", "iterable", ExtendList},  {"insert", "index object", InsertIntoList},
    {"pop", "[index]", PopFromList},    {"remove", "value", RemoveFromList}, {"index", "value", IndexInList},
    {"count", "value", CountInList},    {"reverse", "", ReverseList},        {"copy", "", CopyList},
    {"clear", "", ClearList},
};
inline constexpr Builtin kTupleMethods[] = {{"index", "value", IndexInList}, {"count", "value", CountInList}};

inline Value BitLength(Machine&, const Value& subject, const Inputs&) {
  Integer rest = subject.integer();
  int bits = 0;
  for (; rest != 0; rest /= 2) ++bits;
  return Value::Int(bits);
}
inline constexpr Builtin kIntegerMethods[] = {{"bit_length", "", BitLength}};

inline constexpr Builtin kFloatMethods[] = {{"is_integer", "", [](Machine&, const Value& s, const Inputs&) {
                                               return Value::Bool(s.number() == std::floor(s.number()));
                                             }}};

inline Value NextOfCycler(Machine& machine, const Value& subject, const Inputs&) {
  auto& cycler = static_cast<Cycler&>(*subject.object());
  machine.Step();
  const Value value = cycler.values[cycler.next];
  cycler.next = (cycler.next + 1) % cycler.values.size();
  return value;
}
inline Value ResetCycler(Machine&, const Value& subject, const Inputs&) {
  static_cast<Cycler&>(*subject.object()).next = 0;
  return Value::None();
}
inline constexpr Builtin kCyclerMethods[] = {{"next", "", NextOfCycler}, {"reset", "", ResetCycler}};

inline Value CycleInLoop(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (inputs.rest.empty()) return machine.Fail("loop.cycle needs values to choose from");
  return inputs.rest[static_cast<const Loop&>(*subject.object()).index % inputs.rest.size()];
}
inline Value ChangedInLoop(Machine& machine, const Value& subject, const Inputs& inputs) {
  auto& loop = static_cast<Loop&>(*subject.object());
  const bool is_same = loop.seen && EqualItems(machine, *loop.seen, inputs.rest);
  loop.seen = inputs.rest;
  return Value::Bool(!is_same);
}
inline constexpr Builtin kLoopMethods[] = {{"cycle", "*", CycleInLoop}, {"changed", "*", ChangedInLoop}};

// Methods that change a list or dictionary count as undefined where a template asks whether they are there: the sandbox
// that templates are written for does not have them.
inline bool CountsAsUndefined(const Value& value) {
  if (!value.Is(Type::kFunction)) return value.Is(Type::kUndefined);
  const auto& function = static_cast<const Function&>(*value.object());
  if (function.builtin == nullptr) return false;
  constexpr std::string_view kOfDicts[] = {"setdefault", "pop", "update", "clear"};
  constexpr std::string_view kOfLists[] = {"append", "extend", "insert", "pop", "remove", "reverse", "clear"};
  const auto is_among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), function.builtin->name) != std::end(names);
  };
  return (function.subject.Is(Type::kDict) && is_among(kOfDicts)) ||
         (function.subject.Is(Type::kList) && is_among(kOfLists));
}

inline const Builtin* FindMethod(const Value& value, std::string_view name) {
  switch (value.type()) {
    case Type::kText:
      return FindIn(kTextMethods, name);
    case Type::kDict:
      return FindIn(kDictMethods, name);
    case Type::kList:
      return FindIn(kListMethods, name);
    case Type::kTuple:
      return FindIn(kTupleMethods, name);
    case Type::kBool:
    case Type::kInteger:
      return FindIn(kIntegerMethods, name);
    case Type::kFloat:
      return FindIn(kFloatMethods, name);
    case Type::kCycler:
      return FindIn(kCyclerMethods, name);
    case Type::kLoop:
      return FindIn(kLoopMethods, name);
    default:
      return nullptr;
  }
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_METHODS_H_
