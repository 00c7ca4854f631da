// SPDX-License-Identifier: Apache-2.0
//
// Elements and slices by their numbers, which count from the end if they are negative: as in Python.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_SLICES_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/values/detail/texts.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

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

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_SLICES_H_
