// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the expressions of a parsed chat template, with the variables that they see.

#ifndef SKALD_TEMPLATES_EXECUTION_DETAIL_EVALUATOR_H_
#define SKALD_TEMPLATES_EXECUTION_DETAIL_EVALUATOR_H_

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/marked_text.h"
#include "skald/base/text/message.h"
#include "skald/templates/library/detail/arguments.h"
#include "skald/templates/library/detail/globals.h"
#include "skald/templates/library/detail/value_formats.h"
#include "skald/templates/operations/detail/arithmetic.h"
#include "skald/templates/operations/detail/attributes.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/operations/detail/slices.h"
#include "skald/templates/syntax/syntax.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// Variables inside of a loop, a macro or the like; what is not among them is looked for further outside.
struct Scope : Object {
  Scope* outside = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool is_kept = false;  // by a macro that was defined in it

  Value* Find(int name) {
    for (auto& [known, value] : variables) {
      if (known == name) return &value;
    }
    return nullptr;
  }
  void Set(int name, Value value) {
    if (Value* const known = Find(name)) {
      *known = std::move(value);
    } else {
      variables.emplace_back(name, std::move(value));
    }
  }
};

class Evaluator {
 public:
  Evaluator(const Program& program, Machine& machine)
      : program_(program), machine_(machine), scope_(machine.heap().New<Scope>()) {
    for (const Builtin& function : kGlobals) {
      if (function.name == "strftime_now" && !machine.now) continue;
      SetVariable(function.name, machine_.NewFunction(&function));
    }
  }

  void SetVariable(std::string_view name, Value value) {
    const int number = program_.names.Find(name);
    if (number >= 0) scope_->Set(number, std::move(value));
  }

 protected:
  ~Evaluator() = default;

  // The operations of macros and loops when they are called.
  virtual Value CallMacro(const Macro& macro, Scope* outside, const Arguments& arguments) = 0;
  virtual Value CallLoop(const Loop& loop, const Arguments& arguments) = 0;

  Scope* NewScope(Scope* outside) {
    auto* const scope = machine_.heap().New<Scope>();
    scope->outside = outside;
    return scope;
  }

  // Runs function() with other variables.
  template <class Function>
  auto InScope(Scope* scope, Function function) {
    Scope* const before = std::exchange(scope_, scope);
    auto result = function();
    scope_ = before;
    return result;
  }

  Value Evaluate(const Expression& expression) {
    const Machine::Level level(machine_);
    if (!level || !machine_.Step()) return {};
    machine_.SetLine(expression.line);
    switch (expression.type) {
      case ExpressionType::kConstant:
        return expression.value;
      case ExpressionType::kName:
        return Lookup(expression.name);
      case ExpressionType::kTuple:
        return machine_.NewTuple(EvaluateParts(expression));
      case ExpressionType::kList:
        return machine_.NewList(EvaluateParts(expression));
      case ExpressionType::kDict:
        return EvaluateDict(expression);
      case ExpressionType::kCondition:
        return EvaluateCondition(expression);
      case ExpressionType::kOr:
      case ExpressionType::kAnd:
        return EvaluateLogic(expression);
      case ExpressionType::kNot:
        return Value::Bool(!IsTrue(Evaluate(*expression.parts[0])));
      case ExpressionType::kCompare:
        return EvaluateComparison(expression);
      case ExpressionType::kJoin:
        return EvaluateJoin(expression);
      case ExpressionType::kBinary:
        return EvaluateBinary(expression);
      case ExpressionType::kNegative:
      case ExpressionType::kPositive:
        return EvaluateSign(expression);
      case ExpressionType::kAttribute:
        return EvaluateAttribute(expression);
      case ExpressionType::kItem:
        return EvaluateItem(expression);
      case ExpressionType::kSlice:
        return EvaluateSlice(expression);
      case ExpressionType::kCall:
        return EvaluateCall(expression);
      case ExpressionType::kFilter:
      case ExpressionType::kTest:
        return EvaluateFilter(expression, nullptr);
    }
    return {};
  }

  Value Lookup(int name) {
    for (Scope* scope = scope_; scope != nullptr; scope = scope->outside) {
      if (const Value* const found = scope->Find(name)) return *found;
    }
    return machine_.NewUndefined(Concat({"'", program_.names.Text(name), "' is undefined"}));
  }

  // `subject` is the value that is filtered inside of {% filter %} and {% set %}.
  Value EvaluateFilter(const Expression& expression, const Value* subject) {
    const Expression* const inner = expression.parts[0].get();
    const Value value = inner == nullptr     ? *subject
                        : subject != nullptr ? EvaluateFilter(*inner, subject)
                                             : Evaluate(*inner);
    const Arguments arguments = EvaluateArguments(expression.call);
    machine_.SetLine(expression.line);
    return machine_.ok() ? Run(machine_, *expression.builtin, value, arguments) : Value();
  }

  Value EvaluateCall(const Expression& expression, const Value* caller = nullptr) {
    const Value callee = Part(expression, 0);
    Arguments arguments = EvaluateArguments(expression.call);
    machine_.SetLine(expression.line);
    if (!machine_.ok()) return {};
    if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
    Value result = Call(callee, arguments);
    machine_.SetLine(expression.line);
    return result;
  }

  const Program& program_;
  Machine& machine_;
  Scope* scope_;

 private:
  // Evaluates a part and goes back to the line of the whole.
  Value Part(const Expression& expression, size_t i) {
    Value value = Evaluate(*expression.parts[i]);
    machine_.SetLine(expression.line);
    return value;
  }

  std::vector<Value> EvaluateParts(const Expression& expression) {
    std::vector<Value> values;
    for (size_t i = 0; i < expression.parts.size() && machine_.ok(); ++i) values.push_back(Part(expression, i));
    return values;
  }

  Value EvaluateDict(const Expression& expression) {
    Value dict = machine_.NewDict();
    for (size_t i = 0; i < expression.parts.size() && machine_.ok(); i += 2) {
      const Value key = Part(expression, i);
      SetKey(machine_, dict.dict(), key, Part(expression, i + 1));
    }
    return dict;
  }

  Value EvaluateCondition(const Expression& expression) {
    if (IsTrue(Part(expression, 0))) return Part(expression, 1);
    if (expression.parts[2] != nullptr) return Part(expression, 2);
    return machine_.NewUndefined("the condition does not hold and there is no else");
  }

  Value EvaluateLogic(const Expression& expression) {
    Value value;
    for (size_t i = 0; i < expression.parts.size() && machine_.ok(); ++i) {
      value = Part(expression, i);
      if (IsTrue(value) == (expression.type == ExpressionType::kOr)) break;
    }
    return value;
  }

  Value EvaluateComparison(const Expression& expression) {
    Value left = Part(expression, 0);
    for (size_t i = 0; i < expression.operators.size(); ++i) {
      Value right = Part(expression, i + 1);
      if (!machine_.ok()) return {};
      if (!Compare(machine_, expression.operators[i], left, right)) return Value::Bool(false);
      left = std::move(right);
    }
    return Value::Bool(true);
  }

  Value EvaluateJoin(const Expression& expression) {
    GrowingText joined(machine_);
    for (size_t i = 0; i < expression.parts.size(); ++i) {
      const Value value = ToText(machine_, Part(expression, i));
      if (!machine_.ok() || !joined.Append(value.text())) return {};
    }
    return machine_.NewText(std::move(joined).Take());
  }

  Value EvaluateBinary(const Expression& expression) {
    const Value a = Part(expression, 0), b = Part(expression, 1);
    if (!machine_.ok()) return {};
    const Operator operation = expression.operators[0];
    if (a.IsWhole() && b.IsWhole()) return WithIntegers(machine_, operation, a.integer(), b.integer());
    if (a.IsNumber() && b.IsNumber()) return WithFloats(machine_, operation, a.number(), b.number());
    if (operation == Operator::kAdd) return Add(machine_, a, b);
    if (operation == Operator::kMultiply) return Multiply(machine_, a, b);
    if (operation == Operator::kModulo && a.Is(Type::kText)) {
      const std::vector<Value> values = b.Is(Type::kTuple) ? b.sequence().items : std::vector<Value>{b};
      return machine_.NewText(FormatPercent(machine_, a.text(), values, b.Is(Type::kDict) ? &b : nullptr));
    }
    return WrongOperands(machine_, operation, a, b);
  }

  Value EvaluateSign(const Expression& expression) {
    const Value value = Part(expression, 0);
    const bool is_negative = expression.type == ExpressionType::kNegative;
    if (value.IsWhole()) {
      return is_negative ? WithIntegers(machine_, Operator::kSubtract, 0, value.integer())
                         : Value::Int(value.integer());
    }
    if (value.Is(Type::kFloat)) return Value::Float(is_negative ? -value.number() : value.number());
    if (value.Is(Type::kUndefined)) return machine_.Fail(value.WhyUndefined());
    return machine_.Fail(Concat({"a sign needs a number, not a value of type ", TypeName(value)}));
  }

  Value EvaluateAttribute(const Expression& expression) {
    return GetAttribute(machine_, Part(expression, 0), expression.text);
  }

  Value EvaluateItem(const Expression& expression) {
    const Value value = Part(expression, 0);
    return GetItem(machine_, value, Part(expression, 1));
  }

  Value EvaluateSlice(const Expression& expression) {
    const Value value = Part(expression, 0);
    Value bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      bounds[i] = expression.parts[i + 1] == nullptr ? Value::None() : Part(expression, i + 1);
    }
    return machine_.ok() ? Slice(machine_, value, bounds) : Value();
  }

  Arguments EvaluateArguments(const std::vector<CallArgument>& call) {
    Arguments arguments;
    for (const CallArgument& argument : call) {
      Value value = Evaluate(*argument.value);
      if (!machine_.ok()) break;
      if (argument.sort == CallArgument::Sort::kPositional) {
        arguments.positional.push_back(std::move(value));
      } else if (argument.sort == CallArgument::Sort::kNamed) {
        arguments.named.emplace_back(argument.name, std::move(value));
      } else if (argument.sort == CallArgument::Sort::kAllOf) {
        for (Value& each : Elements(machine_, value)) arguments.positional.push_back(std::move(each));
      } else if (!value.Is(Type::kDict)) {
        machine_.Fail("the value after ** in a call must be a dictionary");
      } else {
        for (const auto& [key, each] : value.dict().entries) {
          arguments.named.emplace_back(Printed(machine_, key).text(), each);
        }
      }
    }
    return arguments;
  }

  Value Call(const Value& callee, const Arguments& arguments) {
    switch (callee.type()) {
      case Type::kFunction: {
        const auto& function = static_cast<const Function&>(*callee.object());
        if (function.macro != nullptr) return CallMacro(*function.macro, function.scope, arguments);
        return Run(machine_, *function.builtin, function.subject, arguments);
      }
      case Type::kJoiner: {
        auto& joiner = static_cast<Joiner&>(*callee.object());
        return std::exchange(joiner.was_called, true) ? joiner.separator : machine_.NewText("");
      }
      case Type::kLoop:
        return CallLoop(static_cast<const Loop&>(*callee.object()), arguments);
      case Type::kUndefined:
        return machine_.Fail(callee.WhyUndefined());
      default:
        return machine_.Fail(Concat({"a value of type ", TypeName(callee), " cannot be called"}));
    }
  }
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_EXECUTION_DETAIL_EVALUATOR_H_
