// SPDX-License-Identifier: Apache-2.0
//
// A list of Configs as a type, and the step from an index into it, known only at run time, to the Config
// itself.

#ifndef SKALD_FAMILIES_CONFIG_CONFIG_LIST_H_
#define SKALD_FAMILIES_CONFIG_CONFIG_LIST_H_

#include <cstddef>
#include <iterator>

#include "hwy/base.h"
#include "skald/families/config/model_config.h"

namespace skald {

template <ModelConfig... Configs>
struct ConfigList {
  static constexpr size_t kSize = sizeof...(Configs);

  // This list with more at its end: `using MyConfigs = PublishedConfigs::With<MyModel>;`
  template <ModelConfig... More>
  using With = ConfigList<Configs..., More...>;
};

// Calls `visitor` with the Config at `index` (less than the list's kSize) as its template argument and
// returns what it returns, which must be of one type for all Configs:
//
//   VisitConfig(PublishedConfigs{}, index, [&]<ModelConfig C>() { return Run<C>(arguments); });
//
// All that the visitor does is compiled once for every Config of the list.
template <ModelConfig First, ModelConfig... Rest, class Visitor>
auto VisitConfig(ConfigList<First, Rest...>, size_t index, Visitor&& visitor) {
  using Returned = decltype(visitor.template operator()<First>());
  using Call = Returned (*)(Visitor&);
  constexpr Call kCalls[] = {[](Visitor& v) -> Returned { return v.template operator()<First>(); },
                             [](Visitor& v) -> Returned { return v.template operator()<Rest>(); }...};
  HWY_DASSERT(index < std::size(kCalls));
  return kCalls[index](visitor);
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_CONFIG_LIST_H_
