// SPDX-License-Identifier: Apache-2.0
//
// VisitUnless: how a type that was released tells of members that it got since (VisitFields of layers, norms and
// RoPEs).

#ifndef SKALD_BASE_VISIT_UNLESS_H_
#define SKALD_BASE_VISIT_UNLESS_H_

#include <string_view>
#include <type_traits>

namespace skald {

/// Calls visit(name, member), but not for a member that is as it was `before` there was one: fingerprints of saved
/// state depend on what is told. Whoever fills in a value is shown all.
template <class T, class Before, class Visitor>
constexpr void VisitUnless(const Before& before, std::string_view name, T& member, Visitor& visit) {
  if (!std::is_const_v<T> || member != before) visit(name, member);
}

}  // namespace skald

#endif  // SKALD_BASE_VISIT_UNLESS_H_
