// SPDX-License-Identifier: Apache-2.0
//
// Reflection on a type's members and on its names in C++ source: the members by VisitFields, the names as the compiler
// spells them. Descriptions of models are written and read by these, for any types that a user adds.

#ifndef SKALD_FAMILIES_CONFIG_REFLECTION_H_
#define SKALD_FAMILIES_CONFIG_REFLECTION_H_

#include <string_view>
#include <type_traits>
#include <utility>

namespace skald::internal {

/// A struct that names its members.
template <class T>
concept HasFields = requires(const T& value) {
  T::VisitFields(value, [](std::string_view, const auto&) {});
};

/// Returns the text after `label` in a compiler's name of a function template.
constexpr std::string_view ArgumentBehind(std::string_view words, std::string_view label) {
  words.remove_prefix(words.find(label) + label.size());
  return words.substr(0, words.find_first_of(";]"));
}

/// Returns the name of a type with its namespace, as in "skald::Attention".
template <class T>
constexpr std::string_view TypeName() {
  return ArgumentBehind(__PRETTY_FUNCTION__, "T = ");
}

/// Returns the name of an enumerator with its namespace, as in "skald::Activation::kSilu"; for other values of the type
/// something that begins with a bracket.
template <auto kValue>
constexpr std::string_view EnumeratorName() {
  return ArgumentBehind(__PRETTY_FUNCTION__, "kValue = ");
}

/// Calls visit(value, name) for every enumerator of E. They must be less than 16.
template <class E, class Visitor>
requires std::is_enum_v<E>
constexpr void ForEachEnumerator(Visitor&& visit) {
  constexpr int kMax = 16;
  const auto visit_one = [&]<int kValue>(std::integral_constant<int, kValue>) {
    constexpr E kEnumerator = static_cast<E>(kValue);
    constexpr std::string_view kName = EnumeratorName<kEnumerator>();
    if constexpr (!kName.starts_with('(')) visit(kEnumerator, kName);
  };
  [&]<int... kValue>(std::integer_sequence<int, kValue...>) { (visit_one(std::integral_constant<int, kValue>()), ...); }
  (std::make_integer_sequence<int, kMax>());
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_CONFIG_REFLECTION_H_
