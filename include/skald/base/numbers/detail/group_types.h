// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/group_types.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_GROUP_TYPES_H_
#define SKALD_BASE_NUMBERS_DETAIL_GROUP_TYPES_H_

#include "skald/base/numbers/group_types.h"

#include <bit>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE float ScaleOf(uint8_t exponent) {  // 2^(exponent - 128)
  return std::bit_cast<float>((uint32_t{exponent} - (exponent > 0 ? 1u : 0u)) << 23);
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_GROUP_TYPES_H_
