// SPDX-License-Identifier: Apache-2.0
//
// What may stand behind "is": a table of tests, with Jinja's names.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_TESTS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_TESTS_H_

#include <string_view>

#include "skald/templates/library/detail/text_filters.h"

namespace skald::internal::jinja {

template <Type kType>
Value IsType(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(subject.Is(kType));
}

inline Value IsDefined(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(!CountsAsUndefined(subject));
}

inline Value IsUndefined(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(CountsAsUndefined(subject));
}

template <bool kFlag>
Value IsFlag(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(subject.Is(Type::kBool) && subject.flag() == kFlag);
}

inline Value IsNumberTest(Machine&, const Value& subject, const Inputs&) { return Value::Bool(subject.IsNumber()); }

inline Value IsSequenceTest(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(IsIterable(subject) && !subject.Is(Type::kView) && !subject.Is(Type::kGenerator));
}

inline Value IsIterableTest(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(IsIterable(subject) || subject.Is(Type::kLoop));
}

inline Value IsCallable(Machine&, const Value& subject, const Inputs&) {
  return Value::Bool(subject.Is(Type::kUndefined) || subject.Is(Type::kFunction) || subject.Is(Type::kJoiner) ||
                     subject.Is(Type::kLoop));
}

inline Value IsSame(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Value& other = *inputs[0];
  if (subject.type() != other.type()) return Value::Bool(false);
  if (subject.Is(Type::kUndefined)) return Value::Bool(subject.IsSameUndefined(other));
  const bool is_plain =
      subject.IsNumber() || subject.Is(Type::kText) || subject.Is(Type::kBytes) || subject.Is(Type::kNone);
  return Value::Bool(is_plain ? Equal(machine, subject, other) : subject.object() == other.object());
}

inline Value IsEscaped(Machine&, const Value& subject, const Inputs&) { return Value::Bool(subject.is_markup()); }

inline Value IsDivisible(Machine& machine, const Value& subject, Integer divisor) {
  if (!subject.IsNumber()) return machine.Fail("divisibility is a matter of numbers");
  const Value rest = subject.IsWhole()
                         ? WithIntegers(machine, Operator::kModulo, subject.integer(), divisor)
                         : WithFloats(machine, Operator::kModulo, subject.number(), static_cast<double>(divisor));
  return Value::Bool(machine.ok() && rest.number() == 0);
}
inline Value IsDivisibleBy(Machine& machine, const Value& subject, const Inputs& inputs) {
  return IsDivisible(machine, subject, IntegerInput(machine, inputs[0], 0));
}
inline Value IsEven(Machine& machine, const Value& subject, const Inputs&) { return IsDivisible(machine, subject, 2); }
inline Value IsOdd(Machine& machine, const Value& subject, const Inputs&) {
  const Value even = IsDivisible(machine, subject, 2);
  return Value::Bool(machine.ok() && !even.flag());
}

template <Operator kOperator>
Value IsCompared(Machine& machine, const Value& subject, const Inputs& inputs) {
  return Value::Bool(Compare(machine, kOperator, subject, *inputs[0]));
}

inline Value IsLowerTest(Machine& machine, const Value& subject, const Inputs& inputs) {
  return AllCased<IsLower>(machine, ToText(machine, subject), inputs);
}
inline Value IsUpperTest(Machine& machine, const Value& subject, const Inputs& inputs) {
  return AllCased<IsUpper>(machine, ToText(machine, subject), inputs);
}

inline Value IsFilterName(Machine& machine, const Value& subject, const Inputs&) {
  return Value::Bool(subject.Is(Type::kText) && machine.find.filter(subject.view()) != nullptr);
}
inline Value IsTestName(Machine& machine, const Value& subject, const Inputs&) {
  return Value::Bool(subject.Is(Type::kText) && machine.find.test(subject.view()) != nullptr);
}

inline constexpr Builtin kTests[] = {
    {"defined", "", IsDefined},
    {"undefined", "", IsUndefined},
    {"none", "", IsType<Type::kNone>},
    {"boolean", "", IsType<Type::kBool>},
    {"true", "", IsFlag<true>},
    {"false", "", IsFlag<false>},
    {"integer", "", IsType<Type::kInteger>},
    {"float", "", IsType<Type::kFloat>},
    {"number", "", IsNumberTest},
    {"string", "", IsType<Type::kText>},
    {"mapping", "", IsType<Type::kDict>},
    {"sequence", "", IsSequenceTest},
    {"iterable", "", IsIterableTest},
    {"callable", "", IsCallable},
    {"sameas", "other", IsSame},
    {"escaped", "", IsEscaped},
    {"divisibleby", "num", IsDivisibleBy},
    {"even", "", IsEven},
    {"odd", "", IsOdd},
    {"lower", "", IsLowerTest},
    {"upper", "", IsUpperTest},
    {"filter", "", IsFilterName},
    {"test", "", IsTestName},
    {"in", "seq", IsCompared<Operator::kIn>},
    {"eq", "other", IsCompared<Operator::kEqual>},
    {"equalto", "other", IsCompared<Operator::kEqual>},
    {"==", "other", IsCompared<Operator::kEqual>},
    {"ne", "other", IsCompared<Operator::kNotEqual>},
    {"!=", "other", IsCompared<Operator::kNotEqual>},
    {"lt", "other", IsCompared<Operator::kLess>},
    {"lessthan", "other", IsCompared<Operator::kLess>},
    {"<", "other", IsCompared<Operator::kLess>},
    {"le", "other", IsCompared<Operator::kLessEqual>},
    {"<=", "other", IsCompared<Operator::kLessEqual>},
    {"gt", "other", IsCompared<Operator::kGreater>},
    {"greaterthan", "other", IsCompared<Operator::kGreater>},
    {">", "other", IsCompared<Operator::kGreater>},
    {"ge", "other", IsCompared<Operator::kGreaterEqual>},
    {">=", "other", IsCompared<Operator::kGreaterEqual>},
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_TESTS_H_
