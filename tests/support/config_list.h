// SPDX-License-Identifier: Apache-2.0
//
// Lists of Configs as types, for tests that do the same with each: that of all published ones, and a test's own.

#ifndef SKALD_TESTS_SUPPORT_CONFIG_LIST_H_
#define SKALD_TESTS_SUPPORT_CONFIG_LIST_H_

#include <cstddef>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/find_named.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::testing {

template <ModelConfig... Configs>
struct ConfigList {
  static constexpr size_t kSize = sizeof...(Configs);

  template <ModelConfig... More>
  using With = ConfigList<Configs..., More...>;
};

template <class... Lists>
struct JoinedLists;
template <ModelConfig... All>
struct JoinedLists<ConfigList<All...>> {
  using Type = ConfigList<All...>;
};
template <ModelConfig... First, ModelConfig... Next, class... Rest>
struct JoinedLists<ConfigList<First...>, internal::ConfigTypes<Next...>, Rest...>
    : JoinedLists<ConfigList<First..., Next...>, Rest...> {};

template <class... Rows>
auto PublishedOf(internal::RowTypes<Rows...>) -> typename JoinedLists<ConfigList<>, typename Rows::Published...>::Type;

// All published models, in the order of the registry.
using PublishedConfigs = decltype(PublishedOf(internal::FamilyRows()));

// Calls visit.operator()<C>() for each Config of the list.
template <ModelConfig... Configs, class Visit>
void ForEachConfig(ConfigList<Configs...>, Visit visit) {
  (visit.template operator()<Configs>(), ...);
}

template <ModelConfig... Configs>
std::vector<NamedSpec> SpecsOf(ConfigList<Configs...>) {
  return {NamedSpecOf<Configs>()...};
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_CONFIG_LIST_H_
