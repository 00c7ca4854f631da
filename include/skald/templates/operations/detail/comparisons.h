// SPDX-License-Identifier: Apache-2.0
//
// Iterating over values, counting, searching and comparing them, as in Python.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_COMPARISONS_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_COMPARISONS_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/values/detail/texts.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

inline bool IsSequence(const Value& value) {
  return value.Is(Type::kList) || value.Is(Type::kTuple) || value.Is(Type::kRange) || value.Is(Type::kView) ||
         value.Is(Type::kGenerator);
}

inline bool IsListOrTuple(const Value& value) { return value.Is(Type::kList) || value.Is(Type::kTuple); }

inline bool IsTrue(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return false;
    case Type::kBool:
    case Type::kInteger:
      return value.integer() != 0;
    case Type::kFloat:
      return value.number() != 0;
    case Type::kText:
    case Type::kBytes:
      return !value.text().empty();
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
    case Type::kView:
      return !value.sequence().items.empty();
    case Type::kDict:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

// The number of elements; -1 for what has no length.
inline Integer Length(Machine& machine, const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return 0;
    case Type::kText:
      machine.StepOver(value.text().size());
      return static_cast<Integer>(CountCharacters(value.view()));
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
    case Type::kView:
      return static_cast<Integer>(value.sequence().items.size());
    case Type::kDict:
      return static_cast<Integer>(value.dict().entries.size());
    default:
      return -1;
  }
}

inline bool IsIterable(const Value& value) {
  return value.Is(Type::kUndefined) || value.Is(Type::kText) || value.Is(Type::kDict) || IsSequence(value);
}

// All elements; of a generator those that are left, and then none are.
inline std::vector<Value> Elements(Machine& machine, const Value& value) {
  std::vector<Value> elements;
  if (value.Is(Type::kText)) {
    const std::string_view whole = value.view();
    if (!machine.HasRoom(whole.size() * (sizeof(Value) + sizeof(CountedText)))) return elements;
    for (size_t at = 0; at < whole.size() && machine.ok();) {
      const size_t size = CharacterSize(whole.substr(at));
      elements.push_back(machine.NewText(value.text().Substr(at, size)));
      at += size;
    }
  } else if (value.Is(Type::kDict)) {
    if (!machine.Step(value.dict().entries.size())) return elements;
    for (const auto& entry : value.dict().entries) elements.push_back(entry.first);
  } else if (IsSequence(value)) {
    Sequence& sequence = value.sequence();
    if (!machine.Step(sequence.items.size()) || !machine.HasRoom(sequence.items.size() * sizeof(Value)))
      return elements;
    elements.assign(sequence.items.begin() + static_cast<std::ptrdiff_t>(sequence.next), sequence.items.end());
    if (value.Is(Type::kGenerator)) sequence.next = sequence.items.size();
  } else if (!value.Is(Type::kUndefined)) {
    machine.Fail(Concat({"a value of type ", TypeName(value), " has no elements to pass through"}));
  }
  return elements;
}

inline bool Equal(Machine& machine, const Value& a, const Value& b);

// The value of a key, or null. Keys are equal as values are.
inline Value* FindKey(Machine& machine, Dict& dict, const Value& key) {
  for (auto& [other, value] : dict.entries) {
    if (Equal(machine, other, key)) return &value;
  }
  machine.Step(dict.entries.size() / 16);
  return nullptr;
}
inline Value* FindKey(Machine& machine, Dict& dict, std::string_view key) {
  for (auto& [other, value] : dict.entries) {
    if (other.Is(Type::kText) && other.view() == key) return &value;
  }
  machine.Step(dict.entries.size() / 16);
  return nullptr;
}

inline bool IsHashable(const Value& value) {
  if (!value.Is(Type::kTuple)) return !value.Is(Type::kList) && !value.Is(Type::kDict);
  const auto& items = value.sequence().items;
  return std::none_of(items.begin(), items.end(),
                      [](const Value& item) { return item.Is(Type::kList) || item.Is(Type::kDict); });
}

inline void SetKey(Machine& machine, Dict& dict, const Value& key, const Value& value) {
  if (!IsHashable(key)) {
    machine.Fail(Concat({"a value of type ", TypeName(key), " cannot be a key"}));
  } else if (Value* const known = FindKey(machine, dict, key)) {
    *known = value;
  } else {
    machine.Append(dict, key, value);
  }
}

inline bool EqualItems(Machine& machine, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!machine.ok() || !Equal(machine, a[i], b[i])) return false;
  }
  return true;
}

inline bool Equal(Machine& machine, const Value& a, const Value& b) {
  const Machine::Level level(machine);
  if (!level || !machine.Step()) return false;
  if (a.IsWhole() && b.IsWhole()) return a.integer() == b.integer();
  if (a.IsNumber() && b.IsNumber()) return a.number() == b.number();
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return true;
    case Type::kText:
    case Type::kBytes:
      return a.view() == b.view();
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
    case Type::kView:
      return EqualItems(machine, a.sequence().items, b.sequence().items);
    case Type::kDict: {
      if (a.dict().entries.size() != b.dict().entries.size()) return false;
      return std::all_of(a.dict().entries.begin(), a.dict().entries.end(), [&](const auto& entry) {
        const Value* const other = FindKey(machine, b.dict(), entry.first);
        return other != nullptr && Equal(machine, entry.second, *other);
      });
    }
    default:
      return a.object() == b.object();
  }
}

// Whether `a` comes before `b`. Fails for what has no order; `shown` is the operator in that error.
inline bool Less(Machine& machine, const Value& a, const Value& b, std::string_view shown = "<") {
  const Machine::Level level(machine);
  if (!level || !machine.Step()) return false;
  if (a.IsWhole() && b.IsWhole()) return a.integer() < b.integer();
  if (a.IsNumber() && b.IsNumber()) return a.number() < b.number();
  if (a.Is(Type::kText) && b.Is(Type::kText)) return a.view() < b.view();
  if (a.type() == b.type() && (a.Is(Type::kList) || a.Is(Type::kTuple))) {
    const std::vector<Value>&left = a.sequence().items, &right = b.sequence().items;
    for (size_t i = 0; i < std::min(left.size(), right.size()) && machine.ok(); ++i) {
      if (!Equal(machine, left[i], right[i])) return Less(machine, left[i], right[i], shown);
    }
    return left.size() < right.size();
  }
  for (const Value* value : {&a, &b}) {
    if (value->Is(Type::kUndefined)) machine.Fail(value->WhyUndefined());
  }
  machine.Fail(Concat({"'", shown, "' does not compare ", TypeName(a), " with ", TypeName(b)}));
  return false;
}

inline bool IsIn(Machine& machine, const Value& part, const Value& whole) {
  if (whole.Is(Type::kText)) {
    if (part.Is(Type::kText)) return Contains(machine, whole.view(), part.view());
    machine.Fail(Concat({"a text contains only texts, not a value of type ", TypeName(part)}));
    return false;
  }
  if (whole.Is(Type::kDict)) {
    if (!IsHashable(part)) machine.Fail(Concat({"a value of type ", TypeName(part), " cannot be a key"}));
    return FindKey(machine, whole.dict(), part) != nullptr;
  }
  if (!IsIterable(whole)) {
    machine.Fail(Concat({"'in' looks into texts, lists and dictionaries, not into ", TypeName(whole)}));
    return false;
  }
  const std::vector<Value> elements = Elements(machine, whole);
  return std::any_of(elements.begin(), elements.end(),
                     [&](const Value& element) { return Equal(machine, element, part); });
}

inline bool Compare(Machine& machine, Operator comparison, const Value& a, const Value& b) {
  switch (comparison) {
    case Operator::kEqual:
      return Equal(machine, a, b);
    case Operator::kNotEqual:
      return !Equal(machine, a, b);
    case Operator::kLess:
      return Less(machine, a, b);
    case Operator::kGreater:
      return Less(machine, b, a, ">");
    case Operator::kLessEqual:
      return Less(machine, a, b, "<=") ||
             (a.Is(Type::kFloat) || b.Is(Type::kFloat) ? Equal(machine, a, b) : !Less(machine, b, a, "<="));
    case Operator::kGreaterEqual:
      return Compare(machine, Operator::kLessEqual, b, a);
    case Operator::kIn:
      return IsIn(machine, a, b);
    default:
      return !IsIn(machine, a, b);
  }
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_COMPARISONS_H_
