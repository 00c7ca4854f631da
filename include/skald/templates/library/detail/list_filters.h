// SPDX-License-Identifier: Apache-2.0
//
// Filters of lists and dictionaries. A table, with Jinja's names and defaults. As there, some of them give what can be
// passed through only once.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_LIST_FILTERS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_LIST_FILTERS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/library/detail/tests.h"

namespace skald::internal::jinja {

inline Value LengthFilter(Machine& machine, const Value& subject, const Inputs&) {
  const Integer length = Length(machine, subject);
  if (length >= 0) return Value::Int(length);
  return machine.Fail(Concat({"a value of type ", TypeName(subject), " has no length"}));
}

inline Value ListFilter(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewList(Elements(machine, subject));
}

inline Value FirstFilter(Machine& machine, const Value& subject, const Inputs&) {
  if (subject.Is(Type::kGenerator)) {
    Sequence& rest = subject.sequence();
    return rest.next < rest.items.size() ? rest.items[rest.next++] : machine.NewUndefined("there is no first item");
  }
  const std::vector<Value> elements = Elements(machine, subject);
  return elements.empty() ? machine.NewUndefined("there is no first item") : elements.front();
}

inline Value LastFilter(Machine& machine, const Value& subject, const Inputs&) {
  if (subject.Is(Type::kGenerator)) return machine.Fail("a generator has no last item; make a list of it");
  const std::vector<Value> elements = Elements(machine, subject);
  return elements.empty() ? machine.NewUndefined("there is no last item") : elements.back();
}

inline Value DefaultFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const bool is_used = CountsAsUndefined(subject) || (FlagInput(inputs[1]) && !IsTrue(subject));
  if (!is_used) return subject;
  return inputs[0] == nullptr ? machine.NewText("") : *inputs[0];
}

inline Value JoinFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  std::vector<Value> items = Elements(machine, subject);
  for (Value& item : items) {
    if (inputs[1] != nullptr) item = GetPath(machine, item, *inputs[1], nullptr);
    item = ToText(machine, item);
    if (!machine.ok()) return {};
  }
  return JoinTexts(machine, PrintedInput(machine, inputs[0]), items);
}

inline Value ItemsFilter(Machine& machine, const Value& subject, const Inputs&) {
  if (!subject.Is(Type::kUndefined) && !subject.Is(Type::kDict)) return machine.Fail("items needs a dictionary");
  return machine.NewGenerator(subject.Is(Type::kUndefined) ? std::vector<Value>{} : EntriesOf(machine, subject.dict()),
                              "generator object do_items");
}

// Sorting. Texts are compared in small letters unless asked otherwise.

inline Value SortKey(Machine& machine, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.Is(Type::kText)) return value;
  return machine.NewText(ToCase(machine, value.text(), Case::kLower));
}

// Sorts values by keys, keeping the order of equal ones.
inline std::vector<Value> SortedBy(Machine& machine, const std::vector<Value>& values,
                                   const std::vector<std::vector<Value>>& keys, bool reverse) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto comes_before = [&](size_t a, size_t b) {
    if (reverse) std::swap(a, b);
    for (size_t i = 0; i < keys[a].size(); ++i) {
      if (!Equal(machine, keys[a][i], keys[b][i])) return Less(machine, keys[a][i], keys[b][i]);
    }
    return false;
  };
  std::stable_sort(order.begin(), order.end(), comes_before);
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(values[i]);
  return sorted;
}

// The keys of a value by a list of paths "a,b.c", or itself without any.
inline std::vector<Value> KeysByPaths(Machine& machine, const Value& value, const Value* paths, bool case_sensitive) {
  if (paths == nullptr || paths->Is(Type::kNone)) return {SortKey(machine, value, case_sensitive)};
  if (!paths->Is(Type::kText)) return {SortKey(machine, GetPath(machine, value, *paths, nullptr), case_sensitive)};
  std::vector<Value> keys;
  for (MarkedText& path : Split(machine, paths->text(), ",", -1)) {
    keys.push_back(
        SortKey(machine, GetPath(machine, value, machine.NewText(std::move(path)), nullptr), case_sensitive));
  }
  return keys;
}

inline Value SortFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::vector<Value> values = Elements(machine, subject);
  std::vector<std::vector<Value>> keys;
  for (const Value& value : values) keys.push_back(KeysByPaths(machine, value, inputs[2], FlagInput(inputs[1])));
  if (!machine.ok()) return {};
  return machine.NewList(SortedBy(machine, values, keys, FlagInput(inputs[0])));
}

inline Value DictSortFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (!subject.Is(Type::kDict)) return machine.Fail("dictsort needs a dictionary");
  const MarkedText by = PrintedInput(machine, inputs[1], "key");
  if (by.text() != "key" && by.text() != "value") return machine.Fail("dictsort sorts by key or by value");
  std::vector<std::vector<Value>> keys;
  for (const auto& [key, value] : subject.dict().entries) {
    keys.push_back({SortKey(machine, by.text() == "key" ? key : value, FlagInput(inputs[0]))});
  }
  const std::vector<Value> entries = EntriesOf(machine, subject.dict());
  if (!machine.ok()) return {};
  return machine.NewList(SortedBy(machine, entries, keys, FlagInput(inputs[2])));
}

inline Value UniqueFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  std::vector<Value> unique, keys;
  for (const Value& value : Elements(machine, subject)) {
    const Value attribute = inputs[1] == nullptr ? value : GetPath(machine, value, *inputs[1], nullptr);
    Value key = SortKey(machine, attribute, FlagInput(inputs[0]));
    const auto is_same = [&](const Value& known) { return Equal(machine, known, key); };
    if (!machine.ok()) return {};
    if (std::any_of(keys.begin(), keys.end(), is_same)) continue;
    keys.push_back(std::move(key));
    unique.push_back(value);
  }
  return machine.NewGenerator(std::move(unique), "generator object do_unique");
}

template <bool kGreatest>
Value ExtremeFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  Value best = machine.NewUndefined("there is no item"), best_key;
  bool any = false;
  for (const Value& value : Elements(machine, subject)) {
    const Value attribute = inputs[1] == nullptr ? value : GetPath(machine, value, *inputs[1], nullptr);
    const Value key = SortKey(machine, attribute, FlagInput(inputs[0]));
    const bool is_better = !any || (kGreatest ? Less(machine, best_key, key) : Less(machine, key, best_key));
    any = true;
    if (!is_better) continue;
    best = value;
    best_key = key;
  }
  return best;
}

inline Value SumFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  Value sum = inputs[1] == nullptr ? Value::Int(0) : *inputs[1];
  const bool has_path = inputs[0] != nullptr && !inputs[0]->Is(Type::kNone);
  for (const Value& value : Elements(machine, subject)) {
    const Value term = has_path ? GetPath(machine, value, *inputs[0], nullptr) : value;
    if (sum.IsWhole() && term.IsWhole()) {
      sum = WithIntegers(machine, Operator::kAdd, sum.integer(), term.integer());
    } else if (sum.IsNumber() && term.IsNumber()) {
      sum = Value::Float(sum.number() + term.number());
    } else {
      sum = Add(machine, sum, term);
    }
  }
  return sum;
}

inline Value ReverseFilter(Machine& machine, const Value& subject, const Inputs&) {
  std::vector<Value> elements = Elements(machine, subject);
  std::reverse(elements.begin(), elements.end());
  if (subject.Is(Type::kText)) return machine.ok() ? JoinTexts(machine, {}, elements, subject.is_markup()) : Value();
  return machine.NewGenerator(std::move(elements), "list_reverseiterator object");
}

inline Value BatchFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Integer count = IntegerInput(machine, inputs[0], 1);
  if (count < 1) return machine.Fail("batch needs a number of at least 1");
  std::vector<Value> batches, batch;
  for (const Value& value : Elements(machine, subject)) {
    if (static_cast<Integer>(batch.size()) == count) batches.push_back(machine.NewList(std::exchange(batch, {})));
    batch.push_back(value);
  }
  if (!batch.empty()) {
    const bool fills = inputs[1] != nullptr && !inputs[1]->Is(Type::kNone);
    while (fills && static_cast<Integer>(batch.size()) < count && machine.Step() &&
           machine.HasRoom(batch.size() * sizeof(Value))) {
      batch.push_back(*inputs[1]);
    }
    batches.push_back(machine.NewList(std::move(batch)));
  }
  return machine.NewGenerator(std::move(batches), "generator object do_batch");
}

inline Value SliceFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Integer count = IntegerInput(machine, inputs[0], 1);
  if (count < 1) return machine.Fail("slice needs a number of at least 1");
  const std::vector<Value> elements = Elements(machine, subject);
  const auto size = static_cast<Integer>(elements.size());
  const Integer each = size / count, longer = size % count;
  std::vector<Value> slices;
  Integer begin = 0;
  for (Integer i = 0; i < count && machine.Step(); ++i) {
    const Integer end = begin + each + (i < longer);
    std::vector<Value> slice(elements.begin() + static_cast<std::ptrdiff_t>(begin),
                             elements.begin() + static_cast<std::ptrdiff_t>(end));
    const bool fills = inputs[1] != nullptr && !inputs[1]->Is(Type::kNone) && i >= longer;
    if (fills) slice.push_back(*inputs[1]);
    slices.push_back(machine.NewList(std::move(slice)));
    begin = end;
  }
  return machine.NewGenerator(std::move(slices), "generator object do_slice");
}

inline Value GroupByFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::vector<Value> values = Elements(machine, subject);
  std::vector<std::vector<Value>> keys;
  std::vector<Value> pairs;
  for (const Value& value : values) {
    const Value key = GetPath(machine, value, *inputs[0], inputs[1]);
    keys.push_back({SortKey(machine, key, FlagInput(inputs[2]))});
    pairs.push_back(machine.NewTuple({key, value, keys.back()[0]}));
  }
  if (!machine.ok()) return {};
  std::vector<Value> groups;
  Value last;
  for (const Value& pair : SortedBy(machine, pairs, keys, false)) {
    const std::vector<Value>& parts = pair.sequence().items;
    if (groups.empty() || !Equal(machine, last, parts[2])) {
      groups.push_back(machine.NewSequence(Type::kTuple, {parts[0], machine.NewList({})}, "group"));
      last = parts[2];
    }
    if (!machine.ok()) return {};
    machine.Append(groups.back().sequence().items[1].sequence(), parts[1]);
  }
  return machine.NewList(std::move(groups));
}

// map, select and the like, which apply another filter or test by its name. Of anything that counts as false, none
// included, they make nothing.

inline std::vector<Value> ElementsIfTrue(Machine& machine, const Value& subject) {
  return IsTrue(subject) ? Elements(machine, subject) : std::vector<Value>();
}

inline Arguments RestOf(const Inputs& inputs, size_t begin) {
  Arguments arguments;
  for (size_t i = begin; i < inputs.rest.size(); ++i) arguments.positional.push_back(inputs.rest[i]);
  return arguments;
}

inline Value MapFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  std::vector<Value> mapped;
  const Value *path = nullptr, *fallback = nullptr;
  Arguments arguments = RestOf(inputs, 1);
  for (const auto& [name, value] : *inputs.named) {
    if (inputs.rest.empty() && name == "attribute") path = &value;
    if (inputs.rest.empty() && name == "default") fallback = &value;
    if (!inputs.rest.empty()) arguments.named.emplace_back(name, value);
  }
  const Builtin* filter = nullptr;
  if (path == nullptr) {
    if (inputs.rest.empty() || !inputs.rest[0].Is(Type::kText))
      return machine.Fail("map needs an attribute or a filter");
    filter = machine.find.filter(inputs.rest[0].view());
    if (filter == nullptr)
      return machine.Fail(Concat({"there is no filter named ", QuotedName(inputs.rest[0].view())}));
  }
  for (const Value& value : ElementsIfTrue(machine, subject)) {
    if (!machine.ok()) return {};
    mapped.push_back(filter == nullptr ? GetPath(machine, value, *path, fallback)
                                       : Run(machine, *filter, value, arguments));
  }
  return machine.NewGenerator(std::move(mapped), "generator object sync_do_map");
}

// Keeps the elements for which a test holds, or does not; without a test, those that are true. With `kByPath` what is
// tested is an attribute.
template <bool kKeeps, bool kByPath>
Value SelectFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const size_t at_test = kByPath ? 1 : 0;
  if (kByPath && inputs.rest.empty()) return machine.Fail("an attribute to select by is missing");
  const Builtin* test = nullptr;
  if (inputs.rest.size() > at_test) {
    const Value& name = inputs.rest[at_test];
    test = name.Is(Type::kText) ? machine.find.test(name.view()) : nullptr;
    if (test == nullptr)
      return machine.Fail(Concat({"there is no test named ", QuotedName(Printed(machine, name).text())}));
  }
  Arguments arguments = RestOf(inputs, at_test + 1);
  arguments.named = *inputs.named;
  std::vector<Value> kept;
  for (const Value& value : ElementsIfTrue(machine, subject)) {
    const Value tested = kByPath ? GetPath(machine, value, inputs.rest[0], nullptr) : value;
    if (!machine.ok()) return {};
    const bool holds = IsTrue(test == nullptr ? tested : Run(machine, *test, tested, arguments));
    if (holds == kKeeps) kept.push_back(value);
  }
  return machine.NewGenerator(std::move(kept), "generator object select_or_reject");
}

inline Value AttrFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText name = PrintedInput(machine, inputs[0]);
  if (std::optional<Value> own = OwnAttribute(machine, subject, name.text())) return *own;
  return NotThere(machine, subject, name.text());
}

inline constexpr Builtin kListFilters[] = {
    {"length", "", LengthFilter},
    {"count", "", LengthFilter},
    {"list", "", ListFilter},
    {"first", "", FirstFilter},
    {"last", "", LastFilter},
    {"default", "[default_value] [boolean]", DefaultFilter},
    {"d", "[default_value] [boolean]", DefaultFilter},
    {"join", "[d] [attribute]", JoinFilter},
    {"items", "", ItemsFilter},
    {"sort", "[reverse] [case_sensitive] [attribute]", SortFilter},
    {"dictsort", "[case_sensitive] [by] [reverse]", DictSortFilter},
    {"unique", "[case_sensitive] [attribute]", UniqueFilter},
    {"max", "[case_sensitive] [attribute]", ExtremeFilter<true>},
    {"min", "[case_sensitive] [attribute]", ExtremeFilter<false>},
    {"sum", "[attribute] [start]", SumFilter},
    {"reverse", "", ReverseFilter},
    {"batch", "linecount [fill_with]", BatchFilter},
    {"slice", "slices [fill_with]", SliceFilter},
    {"groupby", "attribute [default] [case_sensitive]", GroupByFilter},
    {"map", "* **", MapFilter},
    {"select", "* **", SelectFilter<true, false>},
    {"reject", "* **", SelectFilter<false, false>},
    {"selectattr", "* **", SelectFilter<true, true>},
    {"rejectattr", "* **", SelectFilter<false, true>},
    {"attr", "name", AttrFilter},
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_LIST_FILTERS_H_
