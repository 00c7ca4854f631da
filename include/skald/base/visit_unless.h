// SPDX-License-Identifier: Apache-2.0
//
// VisitUnless: how a released type reports members that were added later (VisitFields of layers, norms and RoPEs).

#ifndef SKALD_BASE_VISIT_UNLESS_H_
#define SKALD_BASE_VISIT_UNLESS_H_

#include <string_view>
#include <type_traits>

namespace skald {

/// Calls visit(name, member), unless the member has the value `before` that was implied before it existed: fingerprints
/// of saved state depend on the calls. A visitor that fills in values is called for all members.
template <class T, class Before, class Visitor>
constexpr void VisitUnless(const Before& before, std::string_view name, T& member, Visitor& visit) {
  if (!std::is_const_v<T> || member != before) visit(name, member);
}

}  // namespace skald

#endif  // SKALD_BASE_VISIT_UNLESS_H_
