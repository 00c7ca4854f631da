// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/values/machine.h.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_MACHINE_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_MACHINE_H_

#include "skald/templates/values/machine.h"

#include <memory>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

namespace jinja {

SKALD_INLINE Value Machine::Fail(std::string_view what, ErrorCode code) {
  if (!error_) error_ = Error{code, Concat({"line ", std::to_string(line_), ": ", what})};
  return {};
}

SKALD_INLINE bool Machine::Step(uint64_t steps) {
  steps_ += steps;
  if (steps_ > limits_.steps) FailLimit("steps", limits_.steps);
  if (heap_.meter().used > limits_.memory_bytes) FailLimit("bytes of memory", limits_.memory_bytes);
  return ok();
}

SKALD_INLINE bool Machine::HasRoom(size_t bytes) {
  if (bytes > FreeBytes()) FailLimit("bytes of memory", limits_.memory_bytes);
  return ok();
}

SKALD_INLINE size_t Machine::FreeBytes() const {
  const size_t used = heap_.meter().used;
  return used > limits_.memory_bytes ? 0 : limits_.memory_bytes - used;
}

SKALD_INLINE bool Machine::CheckOutput(size_t bytes) {
  if (bytes > limits_.output_bytes) FailLimit("bytes of output", limits_.output_bytes);
  return ok();
}

SKALD_INLINE void Machine::FailLimit(std::string_view what, uint64_t limit) {
  Fail(Concat({"the template exceeds the limit of ", std::to_string(limit), " ", what}), ErrorCode::kOutOfRange);
}

SKALD_INLINE Machine::Level::Level(Machine& machine) : machine_(machine) {
  if (++machine_.depth_ > machine_.limits_.depth) {
    machine_.FailLimit("levels of nesting and calls", machine_.limits_.depth);
  }
}

SKALD_INLINE Value Machine::NewText(MarkedText text, bool is_markup, Type type) {
  if (!StepOver(text.size()) || !HasRoom(2 * text.capacity())) return {};
  return Value::Text(std::make_shared<const CountedText>(std::move(text), &heap_.meter()), is_markup, type);
}

SKALD_INLINE Value Machine::NewUndefined(std::string_view why) {
  if (!ok()) return {};
  return Value::Undefined(std::make_shared<const CountedText>(MarkedText(why, Author::kTemplate), &heap_.meter()));
}

SKALD_INLINE Value Machine::NewSequence(Type type, std::vector<Value> items, std::string_view shown) {
  if (!Step(items.size()) || !HasRoom(items.size() * sizeof(Value))) return {};
  auto* const sequence = heap_.New<Sequence>();
  heap_.meter().used += items.capacity() * sizeof(Value);
  sequence->items = std::move(items);
  sequence->shown = shown;
  return Value::Of(type, sequence);
}

SKALD_INLINE Value Machine::NewGenerator(std::vector<Value> items, std::string_view shown) {
  return NewSequence(Type::kGenerator, std::move(items), shown);
}

SKALD_INLINE void Machine::Append(Sequence& sequence, Value value) {
  heap_.meter().used += sizeof(Value);
  if (Step()) sequence.items.push_back(std::move(value));
}

SKALD_INLINE void Machine::Append(Dict& dict, Value key, Value value) {
  heap_.meter().used += 2 * sizeof(Value);
  if (Step()) dict.entries.emplace_back(std::move(key), std::move(value));
}

SKALD_INLINE Value Machine::NewFunction(const Builtin* builtin, const Value& subject) {
  auto* const function = heap_.New<Function>();
  function->builtin = builtin;
  function->subject = subject;
  return Value::Of(Type::kFunction, function);
}

}  // namespace jinja
}  // namespace internal
}  // namespace skald

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_MACHINE_H_
