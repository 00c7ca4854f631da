// SPDX-License-Identifier: Apache-2.0
//
// Runs a parsed chat template: executes statements, calls macros, writes. One rendering, on one thread.

#ifndef SKALD_TEMPLATES_EXECUTION_DETAIL_INTERPRETER_H_
#define SKALD_TEMPLATES_EXECUTION_DETAIL_INTERPRETER_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/marked_text.h"
#include "skald/base/text/message.h"
#include "skald/templates/execution/detail/evaluator.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/syntax/syntax.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

class Interpreter final : public Evaluator {
 public:
  Interpreter(const Program& program, Machine& machine)
      : Evaluator(program, machine),
        loop_name_(program.names.Find("loop")),
        varargs_name_(program.names.Find("varargs")),
        kwargs_name_(program.names.Find("kwargs")),
        caller_name_(program.names.Find("caller")) {}

  MarkedText Render() {
    scope_ = NewScope(scope_);
    Execute(program_.body);
    return std::move(out_);
  }

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // The output of function().
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

  // Macros.

  Value NewMacro(const Macro& macro) {
    auto* const function = machine_.heap().New<Function>();
    function->macro = &macro;
    function->scope = scope_;
    for (Scope* scope = scope_; scope != nullptr; scope = scope->outside) scope->is_kept = true;
    return Value::Of(Type::kFunction, function);
  }

  Value CallMacro(const Macro& macro, Scope* outside, const Arguments& arguments) override {
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

  // An argument that the list of parameters does not name is an error, unless the macro looks for it.
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

  // loop(items) of a recursive loop: the same loop over other items.
  Value CallLoop(const Loop& loop, const Arguments& arguments) override {
    const Machine::Level level(machine_);
    if (loop.statement == nullptr) return machine_.Fail("only a loop that is marked as recursive can be called");
    if (arguments.positional.size() != 1) return machine_.Fail("a loop is called with one list");
    return machine_.NewText(Captured([&] {
      InScope(loop.scope, [&] { return RunLoop(*loop.statement, arguments.positional[0], loop.depth + 1); });
    }));
  }

  MarkedText out_;
  size_t captured_ = 0;  // bytes written by those who wait for what is written now
  int loop_name_, varargs_name_, kwargs_name_, caller_name_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_EXECUTION_DETAIL_INTERPRETER_H_
