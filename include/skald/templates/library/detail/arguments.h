// SPDX-License-Identifier: Apache-2.0
//
// Puts the arguments of a call into the places that a function's list of parameters names, and reads them.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_ARGUMENTS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_ARGUMENTS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// One name of a list like "old new [count] *".
struct Parameter {
  std::string_view name;
  bool is_optional;
};

inline std::vector<Parameter> ParametersOf(std::string_view list) {
  std::vector<Parameter> parameters;
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    std::string_view name = list.substr(0, end);
    const bool is_optional = name.starts_with('[');
    if (is_optional) name = name.substr(1, name.size() - 2);
    parameters.push_back({name, is_optional});
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return parameters;
}

// Calls a built-in function. `arguments` must outlive the call alone.
inline Value Run(Machine& machine, const Builtin& builtin, const Value& subject, const Arguments& arguments) {
  Inputs inputs;
  bool takes_rest = false;
  size_t named_used = 0;
  for (const Parameter& parameter : ParametersOf(builtin.parameters)) {
    if (parameter.name == "*") {
      takes_rest = true;
    } else if (parameter.name == "**") {
      inputs.named = &arguments.named;
      named_used = arguments.named.size();
    } else {
      const size_t place = inputs.given.size();
      const Value* const named = arguments.Named(parameter.name);
      named_used += named != nullptr;
      const Value* const given = place < arguments.positional.size() ? &arguments.positional[place] : named;
      if (given == nullptr && !parameter.is_optional) {
        return machine.Fail(Concat({builtin.name, " needs the argument ", parameter.name}));
      }
      inputs.given.push_back(given);
    }
  }
  if (named_used < arguments.named.size()) return machine.Fail(Concat({builtin.name, " has no argument of that name"}));
  for (size_t i = inputs.given.size(); i < arguments.positional.size(); ++i) {
    if (!takes_rest) return machine.Fail(Concat({builtin.name, " does not take so many arguments"}));
    inputs.rest.push_back(arguments.positional[i]);
  }
  return builtin.run(machine, subject, inputs);
}

// Finds a function in a table, or returns null.
template <size_t kCount>
const Builtin* FindIn(const Builtin (&table)[kCount], std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [name](const Builtin& builtin) { return builtin.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

// Readers of single arguments; an argument of another type is an error.

inline Integer IntegerInput(Machine& machine, const Value* input, Integer fallback) {
  if (input == nullptr || input->Is(Type::kNone)) return fallback;
  if (input->IsWhole()) return input->integer();
  machine.Fail(Concat({"expected a whole number, not a value of type ", TypeName(*input)}));
  return fallback;
}

// A text that must be one.
inline MarkedText TextInput(Machine& machine, const Value* input) {
  if (input != nullptr && input->Is(Type::kText)) return input->text();
  if (input != nullptr) machine.Fail(Concat({"expected a text, not a value of type ", TypeName(*input)}));
  return {};
}

// Any value, as it is printed.
inline MarkedText PrintedInput(Machine& machine, const Value* input, std::string_view fallback = {}) {
  return input == nullptr ? MarkedText(fallback, Author::kTemplate) : Printed(machine, *input);
}

// The lists that texts are cut into.
inline Value NewListOfTexts(Machine& machine, std::vector<MarkedText> texts, bool is_markup) {
  std::vector<Value> items;
  if (!machine.HasRoom(texts.size() * (sizeof(Value) + sizeof(CountedText)))) return {};
  for (MarkedText& text : texts) items.push_back(machine.NewText(std::move(text), is_markup));
  return machine.NewList(std::move(items));
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_ARGUMENTS_H_
