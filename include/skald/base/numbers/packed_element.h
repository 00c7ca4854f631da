// SPDX-License-Identifier: Apache-2.0
//
// Elements of packed matrices, one by one.

#ifndef SKALD_BASE_NUMBERS_PACKED_ELEMENT_H_
#define SKALD_BASE_NUMBERS_PACKED_ELEMENT_H_

#include <cstddef>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

/// Returns element (n, k) of a packed matrix of any type, as a float.
template <class T>
float ElementOf(const T* weights, size_t n, size_t k, size_t padded_k) {
  if constexpr (Packs<T>) {
    const T& pack = weights[n / kLanes * (padded_k / T::kTerms) + k / T::kTerms];
    return WeightAt(pack, n % kLanes, k % T::kTerms);
  } else {
    return ToFloat(weights[PackedIndex<T>(n, k, padded_k)]);
  }
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_PACKED_ELEMENT_H_
