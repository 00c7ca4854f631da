// SPDX-License-Identifier: Apache-2.0
//
// FieldVisitor: how layers, norms and models tell their facts, name by name.

#ifndef SKALD_LAYERS_SPEC_FIELD_VISITOR_H_
#define SKALD_LAYERS_SPEC_FIELD_VISITOR_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skald {

class FieldVisitor;

/// A type whose members that change a number are told by VisitFields(value, visit).
template <class T>
concept HasVisitFields = requires(const T& value, FieldVisitor& visit) {
  T::VisitFields(value, visit);
};

/// Is told the facts of a layer or model: what fingerprints and comparisons are made of.
class FieldVisitor {
 public:
  constexpr virtual ~FieldVisitor() = default;

  /// Is told an integer or a truth value.
  constexpr virtual void Integer(std::string_view name, int64_t value) = 0;
  /// Is told a float or double.
  constexpr virtual void Real(std::string_view name, double value) = 0;
  /// Is told a name or an enumerator.
  constexpr virtual void Text(std::string_view name, std::string_view value) = 0;

  template <class T>
  constexpr void operator()(std::string_view name, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      Integer(name, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      Real(name, value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      Text(name, value);
    } else {
      Visit(name, value);
    }
  }

 private:
  template <class T>
  requires std::is_enum_v<T>
  constexpr void Visit(std::string_view name, T value) { Text(name, NameOf(value)); }
  template <class T>
  constexpr void Visit(std::string_view name, const std::optional<T>& value) {
    Integer(name, value.has_value());
    if (value) (*this)(name, *value);
  }
  template <class T>
  constexpr void Visit(std::string_view name, const std::vector<T>& values) {
    Integer(name, static_cast<int64_t>(values.size()));
    for (const T& value : values) (*this)(name, value);
  }
  template <class T>
  requires HasVisitFields<T>
  constexpr void Visit(std::string_view name, const T& value) {
    Text(name, "{");
    T::VisitFields(value, *this);
    Text(name, "}");
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_SPEC_FIELD_VISITOR_H_
