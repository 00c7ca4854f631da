// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/group_layout.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_GROUP_LAYOUT_H_
#define SKALD_BASE_NUMBERS_DETAIL_GROUP_LAYOUT_H_

#include "skald/base/numbers/group_layout.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE QuantizedRows QuantizedRows::In(std::byte* memory, size_t rows, size_t padded_k, size_t scaled_terms) {
  const size_t height = Height(rows), padded_rows = RoundUp(rows, height);
  std::byte* const scales = memory + padded_rows * padded_k;
  std::byte* const sums = scales + padded_rows * Scales(padded_k, scaled_terms) * sizeof(float);
  return {height,
          padded_k,
          scaled_terms,
          reinterpret_cast<int8_t*>(memory),
          reinterpret_cast<float*>(scales),
          reinterpret_cast<int16_t*>(sums)};
}

SKALD_INLINE int8_t* QuantizedRows::CodesAt(size_t row, size_t k) const {
  const size_t first = row / height * height;
  return codes + first * padded_k + k / kActivationGroup * height * kActivationGroup + row % height * kActivationGroup +
         k % kActivationGroup;
}

SKALD_INLINE float* QuantizedRows::ScaleAt(size_t row, size_t k) const {
  return scales + row / height * height * RowScales() + k / scaled_terms * height + row % height;
}

SKALD_INLINE int16_t* QuantizedRows::SumAt(size_t row, size_t k) const {
  return sums + row / height * height * (padded_k / kActivationSum) + k / kActivationGroup * height * 2 +
         row % height * 2 + k % kActivationGroup / kActivationSum;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_GROUP_LAYOUT_H_
