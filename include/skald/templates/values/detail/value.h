// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/values/value.h.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_VALUE_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_VALUE_H_

#include "skald/templates/values/value.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

namespace jinja {

SKALD_INLINE CountedText::CountedText(MarkedText text, Meter* meter) : text_(std::move(text)), meter_(meter) {
  if (meter_ != nullptr) meter_->used += Size();
}

SKALD_INLINE CountedText::~CountedText() {
  if (meter_ != nullptr) meter_->used -= Size();
}

SKALD_INLINE Value Value::Bool(bool flag) {
  Value value(Type::kBool);
  value.integer_ = flag;
  return value;
}

SKALD_INLINE Value Value::Int(Integer integer) {
  Value value(Type::kInteger);
  value.integer_ = integer;
  return value;
}

SKALD_INLINE Value Value::Float(double number) {
  Value value(Type::kFloat);
  value.float_ = number;
  return value;
}

SKALD_INLINE Value Value::Text(std::shared_ptr<const CountedText> text, bool is_markup, Type type) {
  Value value(type);
  value.text_ = std::move(text);
  value.is_markup_ = is_markup;
  return value;
}

SKALD_INLINE Value Value::Of(Type type, Object* object) {
  Value value(type);
  value.object_ = object;
  return value;
}

SKALD_INLINE Value Value::Undefined(std::shared_ptr<const CountedText> why) {
  Value value;
  value.text_ = std::move(why);
  return value;
}

SKALD_INLINE Value Value::WithMarkup(bool is_markup) const {
  Value copy = *this;
  copy.is_markup_ = is_markup;
  return copy;
}

SKALD_INLINE bool Value::IsSameUndefined(const Value& other) const {
  return Is(Type::kUndefined) && other.Is(Type::kUndefined) && text_ != nullptr && text_ == other.text_;
}

SKALD_INLINE const Value* Arguments::Named(std::string_view name) const {
  for (const auto& [other, value] : named) {
    if (other == name) return &value;
  }
  return nullptr;
}

}  // namespace jinja
}  // namespace internal
}  // namespace skald

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_VALUE_H_
