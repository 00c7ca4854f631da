// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/numeric.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_
#define SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_

#include "skald/base/numbers/numeric.h"

#include <bit>

#include "skald/base/highway.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE uint16_t ToHalf(float value) { return std::bit_cast<uint16_t>(hwy::F16FromF32(value)); }

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_NUMERIC_H_
