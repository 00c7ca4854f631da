// SPDX-License-Identifier: Apache-2.0
//
// The group-quantised types that matrices may have, for tests of all of them.

#ifndef SKALD_TESTS_SUPPORT_QUANTISED_TYPES_H_
#define SKALD_TESTS_SUPPORT_QUANTISED_TYPES_H_

#include <vector>

#include "skald/base/numbers/group_types.h"

namespace skald::testing {

template <class... Ts>
std::vector<DType> QuantisedAmong(WeightTypeList<Ts...>) {
  std::vector<DType> types;
  ((kIsGrouped<Ts> ? types.push_back(kDTypeOf<Ts>) : void()), ...);
  return types;
}

inline const std::vector<DType> kQuantisedTypes = QuantisedAmong(AllWeights{});

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_QUANTISED_TYPES_H_
