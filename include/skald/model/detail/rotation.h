// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/rotation.h.

#ifndef SKALD_MODEL_DETAIL_ROTATION_H_
#define SKALD_MODEL_DETAIL_ROTATION_H_

#include "skald/model/rotation.h"

#include <cmath>

#include "skald/base/inline.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

SKALD_INLINE Rotation::Rotation(const RopeSpec& rope, size_t rotary_dim)
    : pairs_(rotary_dim / 2), attention_factor_(double{rope.attention_factor}) {
  const FloatEnvironment contract(Denormals::kKept);
  for (size_t pair = 0; pair < pairs_; ++pair) frequencies_[pair] = RopeFrequency(rope, pair, rotary_dim);
}

SKALD_INLINE void Rotation::Write(double position, double factor, float* cos, float* sin) const {
  for (size_t pair = 0; pair < pairs(); ++pair) {
    const double angle = position * frequencies_[pair];
    cos[pair] = static_cast<float>(factor * std::cos(angle));
    sin[pair] = static_cast<float>(factor * std::sin(angle));
  }
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_ROTATION_H_
