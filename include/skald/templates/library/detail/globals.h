// SPDX-License-Identifier: Apache-2.0
//
// Functions that a template finds without anybody giving them: range, namespace, raise_exception and a few more.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_GLOBALS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_GLOBALS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/library/detail/list_filters.h"
#include "skald/templates/library/detail/time_formats.h"

namespace skald::internal::jinja {

// The longest range, as in Jinja's sandbox.
inline constexpr Integer kMaxRange = 100'000;

inline Value RangeFunction(Machine& machine, const Value&, const Inputs& inputs) {
  const size_t count = inputs.rest.size();
  if (count < 1 || count > 3) return machine.Fail("range takes one to three whole numbers");
  for (const Value& value : inputs.rest) {
    if (!value.IsWhole())
      return machine.Fail(Concat({"range takes whole numbers, not a value of type ", TypeName(value)}));
  }
  const Integer begin = count == 1 ? 0 : inputs.rest[0].integer();
  const Integer end = inputs.rest[count == 1 ? 0 : 1].integer();
  const Integer step = count == 3 ? inputs.rest[2].integer() : 1;
  if (step == 0) return machine.Fail("the step of range is zero");
  std::vector<Value> items;
  for (Integer i = begin; (step > 0 ? i < end : i > end) && machine.Step();) {
    if (static_cast<Integer>(items.size()) == kMaxRange) {
      machine.FailLimit("numbers in a range", static_cast<uint64_t>(kMaxRange));
      return {};
    }
    items.push_back(Value::Int(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  const std::string third = step == 1 ? "" : ", " + IntegerText(step);
  return machine.NewSequence(Type::kRange, std::move(items),
                             Concat({"range(", IntegerText(begin), ", ", IntegerText(end), third, ")"}));
}

inline Value DictFunction(Machine& machine, const Value&, const Inputs& inputs) {
  Value dict = machine.NewDict();
  UpdateDict(machine, dict, inputs);
  return dict;
}

inline Value NamespaceFunction(Machine& machine, const Value& subject, const Inputs& inputs) {
  return Value::Of(Type::kNamespace, &DictFunction(machine, subject, inputs).dict());
}

inline Value JoinerFunction(Machine& machine, const Value&, const Inputs& inputs) {
  auto* const joiner = machine.heap().New<Joiner>();
  joiner->separator = inputs[0] == nullptr ? machine.NewText(", ") : *inputs[0];
  return Value::Of(Type::kJoiner, joiner);
}

inline Value CyclerFunction(Machine& machine, const Value&, const Inputs& inputs) {
  if (inputs.rest.empty()) return machine.Fail("cycler needs values to choose from");
  auto* const cycler = machine.heap().New<Cycler>();
  cycler->values = inputs.rest;
  return Value::Of(Type::kCycler, cycler);
}

inline Value RaiseFunction(Machine& machine, const Value&, const Inputs& inputs) {
  return machine.Fail(Printed(machine, *inputs[0]).text());
}

inline Value TimeFunction(Machine& machine, const Value&, const Inputs& inputs) {
  return machine.NewText(FormatTime(*machine.now, TextInput(machine, inputs[0]).text()));
}

// Paragraphs of words that mean nothing. Jinja draws them at random; here each call gives the same ones.
inline Value LipsumFunction(Machine& machine, const Value&, const Inputs& inputs) {
  constexpr std::string_view kWords[] = {"lorem", "ipsum",        "dolor", "sit",   "amet",       "consectetur",
                                         "elit",  "adipiscing",   "sed",   "magna", "vestibulum", "nunc",
                                         "porta", "sollicitudin", "ut",    "velit", "curabitur"};
  const Integer paragraphs = IntegerInput(machine, inputs[0], 5);
  const bool is_html = inputs[1] == nullptr || IsTrue(*inputs[1]);
  const Integer least = IntegerInput(machine, inputs[2], 20), most = IntegerInput(machine, inputs[3], 100);
  if (machine.ok() && most <= least) return machine.Fail("the most words of lipsum must be more than the least");
  GrowingText text(machine);
  uint32_t number = 1;
  for (Integer i = 0; i < paragraphs && machine.Step(); ++i) {
    if (i > 0) text.Append(is_html ? "\n" : "\n\n", Author::kTemplate);
    if (is_html) text.Append("<p>", Author::kTemplate);
    const Integer words = least + i * 7 % (most - least);
    for (Integer word = 0; word < words && machine.Step(); ++word) {
      number = number * 1664525 + 1013904223;
      std::string next(kWords[(number >> 16) % std::size(kWords)]);
      if (word % 9 == 0) next[0] = static_cast<char>(next[0] - 'a' + 'A');
      next += word + 1 == words || word % 9 == 8 ? "." : "";
      text.Append(word == 0 ? next : " " + next, Author::kTemplate);
    }
    if (is_html) text.Append("</p>", Author::kTemplate);
  }
  return machine.NewText(std::move(text).Take(), is_html);
}

inline constexpr Builtin kGlobals[] = {
    {"range", "*", RangeFunction},
    {"dict", "[mapping] **", DictFunction},
    {"namespace", "[mapping] **", NamespaceFunction},
    {"joiner", "[sep]", JoinerFunction},
    {"cycler", "*", CyclerFunction},
    {"lipsum", "[n] [html] [min] [max]", LipsumFunction},
    {"raise_exception", "message", RaiseFunction},
    {"strftime_now", "format", TimeFunction},  // only where the time is known
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_GLOBALS_H_
