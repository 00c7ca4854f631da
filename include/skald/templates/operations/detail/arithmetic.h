// SPDX-License-Identifier: Apache-2.0
//
// The operators + - * / // % and ** on values, as in Python.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_ARITHMETIC_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_ARITHMETIC_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/values/detail/texts.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

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
    return Value::Float(PortablePow(static_cast<double>(base), static_cast<double>(exponent)));
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
      return Value::Float(PortablePow(a, b));
  }
}

// Where one of two texts is markup, the other one is escaped.
inline Value AddTexts(Machine& machine, const Value& a, const Value& b) {
  const bool is_markup = a.is_markup() || b.is_markup();
  GrowingText sum(machine);
  if (!sum.Reserve(a.text().size() + b.text().size())) return {};
  for (const Value* const value : {&a, &b}) {
    is_markup && !value->is_markup() ? sum.Append(EscapeHtml(machine, value->text())) : sum.Append(value->text());
  }
  return machine.NewText(std::move(sum).Take(), is_markup);
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

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_ARITHMETIC_H_
