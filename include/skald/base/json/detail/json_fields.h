// SPDX-License-Identifier: Apache-2.0
//
// Reads named fields of a JSON object with any content. Each read checks type and range. The first failure stores its
// sentence in an Error that nested objects share; reading continues with harmless values, so that a caller checks for
// an error once, at the end. Nothing throws.

#ifndef SKALD_BASE_JSON_DETAIL_JSON_FIELDS_H_
#define SKALD_BASE_JSON_DETAIL_JSON_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"

namespace skald::internal {

/// The fields of an object that were requested, by their names with the prefix, those of nested objects included.
struct FieldsRead {
  std::set<std::string> names;
  std::set<std::string> objects;  ///< the objects among them that were read field by field
};

/// A view of a JSON object; refers to everything that it is made from.
class JsonFields {
 public:
  // `defaults`, which may be null, supplies fields that `object` lacks. Errors put `prefix` before the name. `read`,
  // which may be null, records each field that is requested.
  JsonFields(const nlohmann::json* object, const nlohmann::json* defaults, std::string prefix,
             std::optional<Error>* error, FieldsRead* read = nullptr)
      : object_(object), defaults_(defaults), prefix_(std::move(prefix)), error_(error), read_(read) {}

  bool Contains(const char* name) const {
    if (read_ != nullptr) read_->names.insert(prefix_ + name);
    return object_->contains(name);
  }

  /// Returns nullptr for a field that is absent or null.
  const nlohmann::json* Find(const char* name) const {
    if (read_ != nullptr) read_->names.insert(prefix_ + name);
    const nlohmann::json* holder = defaults_ == nullptr || object_->contains(name) ? object_ : defaults_;
    const auto value = holder->find(name);
    return value == holder->end() || value->is_null() ? nullptr : &*value;
  }

  // The functions below return the field, or `fallback` if it is absent or null. Without a fallback the field must be
  // present.

  int Integer(const char* name, int min, int max, std::optional<int> fallback = {}) const {
    const nlohmann::json* value = FindOrFail(name, fallback.has_value());
    if (value == nullptr) return fallback.value_or(max);
    if (value->is_number_integer()) {
      const auto number = value->get<int64_t>();  // negative also if it exceeds int64_t
      if (number >= min && number <= max) return static_cast<int>(number);
    }
    WrongValue(name, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return max;
  }

  int Size(const char* name, std::optional<int> fallback = {}) const {
    constexpr int kMaxSize = 1 << 24;  // larger than in any model
    return Integer(name, 1, kMaxSize, fallback);
  }

  double Positive(const char* name, std::optional<double> fallback = {}) const {
    const nlohmann::json* value = FindOrFail(name, fallback.has_value());
    if (value == nullptr) return fallback.value_or(1.0);
    if (value->is_number()) {
      const double number = value->get<double>();
      if (number >= 1e-30 && number <= 1e30) return number;  // a float can hold it
    }
    WrongValue(name, *value, "a number from 1e-30 to 1e30");
    return 1.0;
  }

  /// Returns an array of `count` positive numbers, which must be present.
  std::vector<float> PositiveFloats(const char* name, size_t count) const {
    std::vector<float> numbers;
    const nlohmann::json* value = FindOrFail(name, /*optional=*/false);
    if (value == nullptr) return numbers;
    bool valid = value->is_array() && value->size() == count;
    for (size_t i = 0; valid && i < count; ++i) {
      const nlohmann::json& one = (*value)[i];
      const double number = one.is_number() ? one.get<double>() : 0.0;
      valid = number >= 1e-30 && number <= 1e30;
      numbers.push_back(static_cast<float>(number));
    }
    if (!valid) WrongValue(name, *value, "an array of " + std::to_string(count) + " numbers from 1e-30 to 1e30");
    return numbers;
  }

  bool Flag(const char* name, bool fallback) const {
    const nlohmann::json* value = Find(name);
    if (value == nullptr) return fallback;
    if (value->is_boolean()) return value->get<bool>();
    WrongValue(name, *value, "true or false");
    return fallback;
  }

  std::string String(const char* name, std::optional<std::string_view> fallback = {}) const {
    const nlohmann::json* value = FindOrFail(name, fallback.has_value());
    if (value == nullptr) return std::string(fallback.value_or(""));
    if (value->is_string()) return value->get<std::string>();
    WrongValue(name, *value, "a string");
    return "";
  }

  std::optional<JsonFields> Object(const char* name, const nlohmann::json* defaults = nullptr) const {
    const nlohmann::json* value = Find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) {
      if (read_ != nullptr) read_->objects.insert(prefix_ + name);
      return JsonFields(value, defaults, prefix_ + name + ".", error_, read_);
    }
    WrongValue(name, *value, "an object");
    return std::nullopt;
  }

  /// Calls take(fields) with each element of an array of objects.
  template <class Take>
  void ForEachObject(const char* name, Take take) const {
    const nlohmann::json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return WrongValue(name, *value, "an array of objects");
    for (size_t i = 0; i < value->size(); ++i) {
      const std::string element = std::string(name) + "[" + std::to_string(i) + "]";
      const nlohmann::json& object = (*value)[i];
      if (!object.is_object()) return WrongValue(element.c_str(), object, "an object");
      take(JsonFields(&object, nullptr, prefix_ + element + ".", error_, read_));
    }
  }

  /// Refuses a field that is present, is not null, and is not the one value that Skald supports.
  void Expect(const char* name, const nlohmann::json& supported) const {
    const nlohmann::json* value = Find(name);
    if (value != nullptr && *value != supported) Unsupported(name, *value, Show(supported));
  }

  /// Reports a missing field; `why_needed` continues the sentence.
  void Missing(const char* name, const std::string& why_needed = "") const {
    Report(ErrorCode::kNotFound, name, "is missing or null" + why_needed);
  }

  void WrongValue(const char* name, const nlohmann::json& value, const std::string& expected) const {
    WrongValue(name, Show(value), expected);
  }
  void WrongValue(const char* name, const std::string& found, const std::string& expected) const {
    Report(ErrorCode::kDataLoss, name, "must be " + expected + ", but is " + found);
  }

  void Unsupported(const char* name, const nlohmann::json& value, const std::string& supported) const {
    Report(ErrorCode::kUnsupported, name, "is " + Show(value) + "; Skald supports only " + supported);
  }

  /// Refuses a field that nothing reads in a file of this kind.
  void Unknown(const char* name, const nlohmann::json& value, std::string_view kind) const {
    Report(ErrorCode::kUnsupported, name,
           "is " + Show(value) + ", and Skald does not know this field of " + std::string(kind) +
               ": it may change what the model computes. A file without it is read");
  }

 private:
  const nlohmann::json* FindOrFail(const char* name, bool optional) const {
    const nlohmann::json* value = Find(name);
    if (value == nullptr && !optional) Missing(name);
    return value;
  }

  void Report(ErrorCode code, const char* name, const std::string& what) const {
    if (!*error_) *error_ = Error{code, prefix_ + name + " " + what};
  }

  /// Returns the value as one short line of ASCII. (Printing containers would recurse as deep as they are nested.)
  static std::string Show(const nlohmann::json& value) {
    constexpr size_t kMaxShown = 60;
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array of " + std::to_string(value.size());
    std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
    if (text.size() > kMaxShown) text.replace(kMaxShown, std::string::npos, "...");
    return text;
  }

  const nlohmann::json* object_;
  const nlohmann::json* defaults_;
  std::string prefix_;
  std::optional<Error>* error_;
  FieldsRead* read_;
};

}  // namespace skald::internal

#endif  // SKALD_BASE_JSON_DETAIL_JSON_FIELDS_H_
