// SPDX-License-Identifier: Apache-2.0
//
// The types of codes that matrices may have, for tests of all of them.

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

// Group-quantised types.
inline const std::vector<DType> kQuantisedTypes = QuantisedAmong(AllWeights{});

template <class... Ts>
std::vector<DType> CodedAmong(WeightTypeList<Ts...>) {
  std::vector<DType> types;
  ((Packs<Ts> ? types.push_back(kDTypeOf<Ts>) : void()), ...);
  return types;
}

// These, and codes of floats, which are multiplied as F32 is.
inline const std::vector<DType> kCodedTypes = CodedAmong(AllWeights{});

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_QUANTISED_TYPES_H_
