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

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_GROUP_LAYOUT_H_
