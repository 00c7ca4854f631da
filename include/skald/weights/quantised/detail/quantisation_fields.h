// SPDX-License-Identifier: Apache-2.0
//
// The fields of a description of quantised weights: which of them were asked for, and those that methods share.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_FIELDS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_FIELDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/result.h"
#include "skald/weights/quantised/detail/stored_tensors.h"

namespace skald::internal {

/// An object of config.json, and what was asked of it.
class QuantisationFields {
 public:
  QuantisationFields(const nlohmann::json& object, const std::string& prefix, std::optional<Error>* error)
      : object_(object), prefix_(prefix), error_(error), fields_(&object, nullptr, prefix, error, &read_) {}
  QuantisationFields(const QuantisationFields&) = delete;
  QuantisationFields& operator=(const QuantisationFields&) = delete;

  const JsonFields* operator->() const { return &fields_; }
  const nlohmann::json& object() const { return object_; }

  /// Calls read(name, fields) with each member that is an object, or null where it is false or an unread null.
  template <class Read>
  void ForEachObject(Read read) const {
    for (const auto& [name, value] : object_.items()) {
      if (!value.is_object()) continue;
      read(name, QuantisationFields(value, prefix_ + name + ".", error_));
    }
  }

  std::optional<Error>* error() const { return error_; }
  std::string NameOf(const std::string& member) const { return prefix_ + member + "."; }

  /// Refuses every field that was not asked for, has a value, and is not one of `passed`, words.
  void RefuseOthers(std::string_view passed, std::string_view method) const {
    for (const auto& [name, value] : object_.items()) {
      if (value.is_null() || read_.names.contains(prefix_ + name) || IsOneOf(passed, name)) continue;
      fields_.Unknown(name.c_str(), value, method);
    }
  }

 private:
  const nlohmann::json& object_;
  std::string prefix_;
  std::optional<Error>* error_;
  FieldsRead read_;
  JsonFields fields_;
};

/// A number of neighbours; -1 is the whole row.
inline size_t ReadGroup(const QuantisationFields& fields, std::optional<int> fallback = {}) {
  const int group = fields->Integer("group_size", -1, 1 << 20, fallback);
  if (group == 0) fields->WrongValue("group_size", nlohmann::json(0), "-1 or a positive number");
  return group == -1 ? 0 : static_cast<size_t>(group);
}

inline int ReadBits(const QuantisationFields& fields, std::initializer_list<int> known, const char* name = "bits") {
  const int bits = fields->Integer(name, 1, 64);
  if (std::ranges::find(known, bits) != known.end()) return bits;
  std::string supported;
  for (const int one : known) supported += (supported.empty() ? "" : ", ") + std::to_string(one);
  fields->Unsupported(name, nlohmann::json(bits), supported);
  return *known.begin();
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_QUANTISATION_FIELDS_H_
