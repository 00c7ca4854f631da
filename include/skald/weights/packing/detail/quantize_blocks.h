// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/quantize_blocks.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_

#include "skald/weights/packing/quantize_blocks.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE int RoundedWithin(int least, int largest, float value) {
  if (!(value > static_cast<float>(least))) return least;
  return static_cast<int>(std::floor(std::min(value, static_cast<float>(largest)) + 0.5f));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_
