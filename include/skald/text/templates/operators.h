// SPDX-License-Identifier: Apache-2.0
//
// What operators do with values, and what passes through, counts and looks into them: as Python does.

#ifndef SKALD_TEXT_TEMPLATES_OPERATORS_H_
#define SKALD_TEXT_TEMPLATES_OPERATORS_H_

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/text/templates/machine.h"
#include "skald/text/templates/printing.h"
#include "skald/text/templates/texts.h"

namespace skald::internal::jinja {

inline bool IsSequence(const Value& value) {
  return value.Is(Type::kList) || value.Is(Type::kTuple) || value.Is(Type::kRange) || value.Is(Type::kView) ||
         value.Is(Type::kGenerator);
}

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

// Arithmetic.

inline std::string_view OperatorText(Operator operation) {
  constexpr std::string_view kTexts[] = {
      "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kTexts[static_cast<size_t>(operation)];
}

inline Value WrongOperands(Machine& machine, Operator operation, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->Is(Type::kUndefined)) return machine.Fail(value->WhyUndefined());
  }
  return machine.Fail(Concat({"'", OperatorText(operation), "' does not take ", TypeName(a), " and ", TypeName(b)}));
}

inline Value IntegerPower(Machine& machine, Integer base, Integer exponent) {
  if (exponent < 0) {
    if (base == 0) return machine.Fail("a power of zero is a division by zero");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Integer power = 1;
  bool overflow = false;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) overflow |= __builtin_mul_overflow(power, base, &power);
    const bool base_overflows = exponent > 1 && __builtin_mul_overflow(base, base, &base);
    overflow |= base_overflows;
    if (overflow) return machine.Fail("the result of '**' does not fit into 128 bits", ErrorCode::kOutOfRange);
  }
  return Value::Int(power);
}

inline Value WithIntegers(Machine& machine, Operator operation, Integer a, Integer b) {
  Integer result = 0;
  bool overflow = false;
  switch (operation) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::kPower:
      return IntegerPower(machine, a, b);
    default:
      if (b == 0) return machine.Fail("division by zero");
      if (operation == Operator::kDivide) return Value::Float(static_cast<double>(a) / static_cast<double>(b));
      if (b == -1) {  // the one division that may overflow
        if (operation == Operator::kModulo) return Value::Int(0);
        overflow = __builtin_sub_overflow(Integer{0}, a, &result);
        break;
      }
      const bool rounds = a % b != 0 && (a % b < 0) != (b < 0);  // down, not towards zero
      result = operation == Operator::kModulo ? a % b + (rounds ? b : 0) : a / b - rounds;
  }
  if (!overflow) return Value::Int(result);
  return machine.Fail(Concat({"the result of '", OperatorText(operation), "' does not fit into 128 bits"}),
                      ErrorCode::kOutOfRange);
}

inline Value WithFloats(Machine& machine, Operator operation, double a, double b) {
  const bool divides =
      operation == Operator::kDivide || operation == Operator::kFloorDivide || operation == Operator::kModulo;
  if (divides && b == 0) return machine.Fail("division by zero");
  switch (operation) {
    case Operator::kAdd:
      return Value::Float(a + b);
    case Operator::kSubtract:
      return Value::Float(a - b);
    case Operator::kMultiply:
      return Value::Float(a * b);
    case Operator::kDivide:
      return Value::Float(a / b);
    case Operator::kFloorDivide:
      return Value::Float(std::floor(a / b));
    case Operator::kModulo: {
      const double rest = std::fmod(a, b);
      return Value::Float(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    default:
      return Value::Float(std::pow(a, b));
  }
}

// Where one of two texts is markup, the other one is escaped.
inline Value AddTexts(Machine& machine, const Value& a, const Value& b) {
  const bool is_markup = a.is_markup() || b.is_markup();
  if (!machine.HasRoom(2 * (a.text().size() + b.text().size()))) return {};
  MarkedText sum = is_markup && !a.is_markup() ? EscapeHtml(machine, a.text()) : a.text();
  sum.Append(is_markup && !b.is_markup() ? EscapeHtml(machine, b.text()) : b.text());
  return machine.NewText(std::move(sum), is_markup);
}

inline Value RepeatItems(Machine& machine, const Value& value, Integer times) {
  const std::vector<Value>& items = value.sequence().items;
  std::vector<Value> repeated;
  const auto most = static_cast<Integer>(machine.limits().memory_bytes / sizeof(Value)) + 1;
  if (!items.empty() && times > 0) {
    if (!machine.HasRoom(items.size() * sizeof(Value) * static_cast<size_t>(std::min(times, most)))) return {};
    for (Integer i = 0; i < times && machine.Step(items.size()); ++i) {
      repeated.insert(repeated.end(), items.begin(), items.end());
    }
  }
  return machine.NewSequence(value.type(), std::move(repeated));
}

inline bool IsListOrTuple(const Value& value) { return value.Is(Type::kList) || value.Is(Type::kTuple); }

inline Value Multiply(Machine& machine, const Value& a, const Value& b) {
  const Value &whole = a.IsWhole() ? b : a, &times = a.IsWhole() ? a : b;
  if (!times.IsWhole()) return WrongOperands(machine, Operator::kMultiply, a, b);
  if (whole.Is(Type::kText)) {
    return machine.NewText(Repeat(machine, whole.text(), times.integer()), whole.is_markup());
  }
  if (IsListOrTuple(whole)) return RepeatItems(machine, whole, times.integer());
  return WrongOperands(machine, Operator::kMultiply, a, b);
}

inline Value Add(Machine& machine, const Value& a, const Value& b) {
  if (a.Is(Type::kText) && b.Is(Type::kText)) return AddTexts(machine, a, b);
  if (!IsListOrTuple(a) || a.type() != b.type()) return WrongOperands(machine, Operator::kAdd, a, b);
  std::vector<Value> sum = Elements(machine, a);
  const std::vector<Value> more = Elements(machine, b);
  sum.insert(sum.end(), more.begin(), more.end());
  return machine.NewSequence(a.type(), std::move(sum));
}

// Slices.

// The bounds of a slice of `length` elements, resolved: the first one, and how many.
struct SliceBounds {
  Integer begin, step, count;
};

inline std::optional<SliceBounds> ResolveSlice(Machine& machine, const Value bounds[3], Integer length) {
  for (int i = 0; i < 3; ++i) {
    if (!bounds[i].IsWhole() && !bounds[i].Is(Type::kNone)) {
      machine.Fail(Concat({"the bounds of a slice are whole numbers, not of type ", TypeName(bounds[i])}));
      return std::nullopt;
    }
  }
  const Integer step = bounds[2].Is(Type::kNone) ? 1 : bounds[2].integer();
  if (step == 0) {
    machine.Fail("the step of a slice is zero");
    return std::nullopt;
  }
  const Integer lowest = step < 0 ? -1 : 0, highest = step < 0 ? length - 1 : length;
  const auto resolve = [&](const Value& bound, Integer unset) {
    if (bound.Is(Type::kNone)) return unset;
    const Integer index = bound.integer() < 0 ? std::max(bound.integer(), -length - 1) + length : bound.integer();
    return std::clamp(index, lowest, highest);
  };
  const Integer begin = resolve(bounds[0], step < 0 ? highest : lowest);
  const Integer end = resolve(bounds[1], step < 0 ? lowest : highest);
  const Integer distance = step < 0 ? begin - end : end - begin;
  const Integer stride = std::min<Integer>(step < 0 ? -std::max<Integer>(step, -length - 1) : step, length + 1);
  if (distance <= 0) return SliceBounds{0, 1, 0};
  return SliceBounds{begin, step < 0 ? -stride : stride, (distance + stride - 1) / stride};
}

inline Value Slice(Machine& machine, const Value& whole, const Value bounds[3]) {
  const bool is_text = whole.Is(Type::kText);
  if (!is_text && !IsListOrTuple(whole) && !whole.Is(Type::kRange)) {
    if (whole.Is(Type::kUndefined)) return machine.Fail(whole.WhyUndefined());
    return machine.Fail(Concat({"a value of type ", TypeName(whole), " has no slices"}));
  }
  const auto slice = ResolveSlice(machine, bounds, Length(machine, whole));
  if (!slice) return {};
  if (is_text) {
    return machine.NewText(SliceText(machine, whole.text(), slice->begin, slice->step, slice->count),
                           whole.is_markup());
  }
  std::vector<Value> items;
  if (!machine.HasRoom(static_cast<size_t>(slice->count) * sizeof(Value))) return {};
  for (Integer i = 0; i < slice->count; ++i) {
    items.push_back(whole.sequence().items[static_cast<size_t>(slice->begin + i * slice->step)]);
  }
  return machine.NewSequence(whole.Is(Type::kRange) ? Type::kList : whole.type(), std::move(items));
}

// The element at `index`, which counts from the end if it is negative; null if there is none.
inline std::optional<Value> ElementAt(Machine& machine, const Value& whole, Integer index) {
  if (!whole.Is(Type::kText) && !IsListOrTuple(whole) && !whole.Is(Type::kRange)) return std::nullopt;
  const Integer length = Length(machine, whole);
  if (index < 0) index += length;
  if (index < 0 || index >= length || !machine.ok()) return std::nullopt;
  if (!whole.Is(Type::kText)) return whole.sequence().items[static_cast<size_t>(index)];
  return machine.NewText(SliceText(machine, whole.text(), index, 1, 1), whole.is_markup());
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEXT_TEMPLATES_OPERATORS_H_
