// SPDX-License-Identifier: Apache-2.0
//
// Runs a parsed chat template: evaluates expressions, executes statements, calls macros. One rendering, on one thread.

#ifndef SKALD_TEXT_TEMPLATES_INTERPRETER_H_
#define SKALD_TEXT_TEMPLATES_INTERPRETER_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/text/templates/globals.h"
#include "skald/text/templates/syntax.h"

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

class Interpreter {
 public:
  Interpreter(const Program& program, Machine& machine)
      : program_(program),
        machine_(machine),
        scope_(machine.heap().New<Scope>()),
        loop_name_(program.names.Find("loop")),
        varargs_name_(program.names.Find("varargs")),
        kwargs_name_(program.names.Find("kwargs")),
        caller_name_(program.names.Find("caller")) {
    for (const Builtin& function : kGlobals) {
      if (function.name == "strftime_now" && !machine.now) continue;
      SetVariable(function.name, machine_.NewFunction(&function));
    }
  }

  void SetVariable(std::string_view name, Value value) {
    const int number = program_.names.Find(name);
    if (number >= 0) scope_->Set(number, std::move(value));
  }

  MarkedText Render() {
    scope_ = NewScope(scope_);
    Execute(program_.body);
    return std::move(out_);
  }

 private:
  enum class Flow { kNext, kBreak, kContinue };

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

  // What function() writes.
  template <class Function>
  MarkedText Captured(Function function) {
    MarkedText before = std::exchange(out_, {});
    const size_t size_before = std::exchange(captured_, captured_ + before.size());
    function();
    captured_ = size_before;
    return std::exchange(out_, std::move(before));
  }

  void Write(const MarkedText& text) {
    if (!machine_.StepOver(text.size()) || !machine_.CheckOutput(captured_ + out_.size() + text.size())) return;
    out_.Append(text);
  }

  // Expressions.

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

  // Evaluates a part and goes back to the line of the whole.
  Value Part(const Expression& expression, size_t i) {
    Value value = Evaluate(*expression.parts[i]);
    machine_.SetLine(expression.line);
    return value;
  }

  Value Lookup(int name) {
    for (Scope* scope = scope_; scope != nullptr; scope = scope->outside) {
      if (const Value* const found = scope->Find(name)) return *found;
    }
    return machine_.NewUndefined(Concat({"'", program_.names.Text(name), "' is undefined"}));
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
    MarkedText joined;
    for (size_t i = 0; i < expression.parts.size(); ++i) {
      const Value value = Part(expression, i);
      if (!machine_.ok()) return {};
      const MarkedText text = value.Is(Type::kText) ? value.text() : Printed(machine_, value);
      if (!machine_.HasRoom(2 * (joined.size() + text.size()))) return {};
      joined.Append(text);
    }
    return machine_.NewText(std::move(joined));
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
        machine_.Fail("what stands behind ** in a call must be a dictionary");
      } else {
        for (const auto& [key, each] : value.dict().entries) {
          arguments.named.emplace_back(Printed(machine_, key).text(), each);
        }
      }
    }
    return arguments;
  }

  // `subject` stands for what is filtered inside of {% filter %} and {% set %}.
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

  // loop(items) of a recursive loop: the same loop over other items.
  Value CallLoop(const Loop& loop, const Arguments& arguments) {
    const Machine::Level level(machine_);
    if (loop.statement == nullptr) return machine_.Fail("only a loop that is marked as recursive can be called");
    if (arguments.positional.size() != 1) return machine_.Fail("a loop is called with one list");
    return machine_.NewText(Captured([&] {
      InScope(loop.scope, [&] { return RunLoop(*loop.statement, arguments.positional[0], loop.depth + 1); });
    }));
  }

  // Macros.

  Value NewMacro(const Macro& macro) {
    auto* const function = machine_.heap().New<Function>();
    function->macro = &macro;
    function->scope = scope_;
    for (Scope* scope = scope_; scope != nullptr; scope = scope->outside) scope->is_kept = true;
    return Value::Of(Type::kFunction, function);
  }

  Value CallMacro(const Macro& macro, Scope* outside, const Arguments& arguments) {
    const Machine::Level level(machine_);
    if (!level) return {};
    Scope* const scope = NewScope(outside);
    return InScope(scope, [&]() -> Value {
      if (!BindParameters(macro, arguments, *scope)) return {};
      return machine_.NewText(Captured([&] { Execute(macro.body); }));
    });
  }

  bool BindParameters(const Macro& macro, const Arguments& arguments, Scope& scope) {
    const size_t count = macro.parameters.size();
    std::vector<bool> is_used(arguments.named.size());
    for (size_t i = 0; i < count && machine_.ok(); ++i) {
      const auto& [name, fallback] = macro.parameters[i];
      const std::string& text = program_.names.Text(name);
      const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                      [&](const auto& argument) { return argument.first == text; });
      if (named != arguments.named.end()) is_used[static_cast<size_t>(named - arguments.named.begin())] = true;
      if (i < arguments.positional.size()) {
        scope.Set(name, arguments.positional[i]);
      } else if (named != arguments.named.end()) {
        scope.Set(name, named->second);
      } else if (fallback != nullptr) {
        scope.Set(name, Evaluate(*fallback));
      } else {
        scope.Set(name, machine_.NewUndefined(Concat({"the parameter '", text, "' was not given"})));
      }
    }
    return BindRest(macro, arguments, is_used, scope);
  }

  // What the list of parameters does not name is an error, unless the macro looks for it.
  bool BindRest(const Macro& macro, const Arguments& arguments, const std::vector<bool>& is_used, Scope& scope) {
    Value caller, named = machine_.NewDict();
    bool has_caller = false;
    for (size_t i = 0; i < is_used.size(); ++i) {
      const auto& [name, value] = arguments.named[i];
      if (is_used[i]) continue;
      if (name == "caller") {
        has_caller = true;
        caller = value;
      } else if (macro.uses_kwargs) {
        machine_.Append(named.dict(), machine_.NewText(name), value);
      } else {
        machine_.Fail(Concat({"the macro '", macro.name, "' has no parameter '", name, "'"}));
      }
    }
    if (has_caller && !macro.uses_caller) machine_.Fail(Concat({"the macro '", macro.name, "' does not use caller"}));
    if (macro.uses_caller) scope.Set(caller_name_, has_caller ? caller : machine_.NewUndefined("there is no caller"));
    if (macro.uses_kwargs) scope.Set(kwargs_name_, named);
    const size_t count = std::min(macro.parameters.size(), arguments.positional.size());
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                            arguments.positional.end());
    if (!rest.empty() && !macro.uses_varargs) {
      machine_.Fail(Concat({"the macro '", macro.name, "' does not take so many arguments"}));
    }
    if (macro.uses_varargs) scope.Set(varargs_name_, machine_.NewTuple(std::move(rest)));
    return machine_.ok();
  }

  // Statements.

  Flow Execute(const Block& block) {
    const Machine::Level level(machine_);
    for (const auto& statement : block) {
      if (!machine_.Step()) return Flow::kBreak;
      machine_.SetLine(statement->line);
      const Flow flow = Execute(*statement);
      if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  Flow Execute(const Statement& statement) {
    switch (statement.type) {
      case StatementType::kText:
        Write(statement.text.text());
        return Flow::kNext;
      case StatementType::kPrint:
        Print(Evaluate(*statement.value));
        return Flow::kNext;
      case StatementType::kIf:
        return ExecuteIf(statement);
      case StatementType::kFor:
        return RunLoop(statement, Evaluate(*statement.value), 1);
      case StatementType::kBreak:
        return Flow::kBreak;
      case StatementType::kContinue:
        return Flow::kContinue;
      case StatementType::kSet:
        Assign(statement.target, Evaluate(*statement.value));
        return Flow::kNext;
      case StatementType::kMacro:
        scope_->Set(statement.target.name, NewMacro(*statement.macro));
        return Flow::kNext;
      case StatementType::kCall: {
        const Value caller = NewMacro(*statement.macro);
        Print(EvaluateCall(*statement.value, &caller));
        return Flow::kNext;
      }
      case StatementType::kSetBlock:
      case StatementType::kFilter:
        return ExecuteCapture(statement);
      case StatementType::kWith:
        return ExecuteWith(statement);
      case StatementType::kScope:
        return InScope(NewScope(scope_), [&] { return Execute(statement.body); });
    }
    return Flow::kNext;
  }

  void Print(const Value& value) {
    if (machine_.ok()) Write(value.Is(Type::kText) ? value.text() : Printed(machine_, value));
  }

  Flow ExecuteIf(const Statement& statement) {
    for (const Branch& branch : statement.branches) {
      const bool holds = branch.condition == nullptr || IsTrue(Evaluate(*branch.condition));
      if (!machine_.ok()) return Flow::kBreak;
      if (holds) return Execute(branch.body);
    }
    return Flow::kNext;
  }

  // {% set x %} and {% filter %}: what the block writes, filtered.
  Flow ExecuteCapture(const Statement& statement) {
    Flow flow = Flow::kNext;
    const MarkedText text =
        Captured([&] { flow = InScope(NewScope(scope_), [&] { return Execute(statement.body); }); });
    if (flow != Flow::kNext || !machine_.ok()) return flow;
    Value value = machine_.NewText(text);
    if (statement.value != nullptr) value = EvaluateFilter(*statement.value, &value);
    if (statement.type == StatementType::kFilter) {
      Print(value);
    } else {
      Assign(statement.target, value);
    }
    return flow;
  }

  Flow ExecuteWith(const Statement& statement) {
    Scope* const scope = NewScope(scope_);
    for (const Branch& assignment : statement.branches) scope->Set(assignment.target.name, Evaluate(*assignment.value));
    return InScope(scope, [&] { return Execute(statement.body); });
  }

  void Assign(const Target& target, const Value& value) {
    const Machine::Level level(machine_);
    if (!level || !machine_.Step()) return;
    if (!target.several.empty()) {
      const std::vector<Value> parts = Elements(machine_, value);
      if (!machine_.ok()) return;
      if (parts.size() != target.several.size()) {
        machine_.Fail(Concat({"there are ", std::to_string(parts.size()), " values for ",
                              std::to_string(target.several.size()), " names"}));
        return;
      }
      for (size_t i = 0; i < parts.size(); ++i) Assign(target.several[i], parts[i]);
    } else if (target.attribute.empty()) {
      scope_->Set(target.name, value);
    } else {
      const Value space = Lookup(target.name);
      if (!space.Is(Type::kNamespace)) {
        machine_.Fail(
            Concat({"'", program_.names.Text(target.name), "' is no namespace, so nothing in it can be set"}));
      } else if (machine_.ok()) {
        SetKey(machine_, space.dict(), machine_.NewText(target.attribute), value);
      }
    }
  }

  // Loops.

  Flow RunLoop(const Statement& statement, const Value& over, size_t depth) {
    std::vector<Value> items = Elements(machine_, over);
    if (statement.condition != nullptr) items = Filtered(statement, std::move(items));
    auto* const loop = machine_.heap().New<Loop>();
    const Machine::Level level(machine_);
    loop->items = std::move(items);
    loop->depth = depth;
    if (statement.is_recursive) {
      loop->statement = &statement;
      loop->scope = scope_;
    }
    bool is_finished_once = false;  // as in Jinja, where a loop that only breaks or continues has its else
    Scope* scope = nullptr;
    for (; loop->index < loop->items.size() && machine_.Step(); ++loop->index) {
      if (scope == nullptr || scope->is_kept) scope = NewScope(scope_);
      scope->variables.clear();
      const Flow flow = InScope(scope, [&] {
        if (loop_name_ >= 0) scope_->Set(loop_name_, Value::Of(Type::kLoop, loop));
        Assign(statement.target, loop->items[loop->index]);
        return Execute(statement.body);
      });
      is_finished_once |= flow == Flow::kNext;
      if (flow == Flow::kBreak) break;
    }
    if (is_finished_once || !machine_.ok()) return Flow::kNext;
    return InScope(NewScope(scope_), [&] { return Execute(statement.other_body); });
  }

  // The items for which the loop's own condition holds.
  std::vector<Value> Filtered(const Statement& statement, std::vector<Value> items) {
    std::vector<Value> kept;
    Scope* const scope = NewScope(scope_);
    for (Value& item : items) {
      const bool holds = InScope(scope, [&] {
        Assign(statement.target, item);
        return IsTrue(Evaluate(*statement.condition));
      });
      if (!machine_.ok()) break;
      if (holds) kept.push_back(std::move(item));
    }
    return kept;
  }

  const Program& program_;
  Machine& machine_;
  Scope* scope_;
  MarkedText out_;
  size_t captured_ = 0;  // bytes written by those who wait for what is written now
  int loop_name_, varargs_name_, kwargs_name_, caller_name_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEXT_TEMPLATES_INTERPRETER_H_
