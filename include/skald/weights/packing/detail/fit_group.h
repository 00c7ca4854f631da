// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/fit_group.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_

#include "skald/weights/packing/fit_group.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE float ExtremeOf(const float* values, size_t count) {
  float extreme = 0.0f;
  for (size_t i = 0; i < count; ++i) {
    if (std::abs(values[i]) > std::abs(extreme)) extreme = values[i];
  }
  return extreme;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_
