// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/rotation.h.

#ifndef SKALD_MODEL_DETAIL_ROTATION_H_
#define SKALD_MODEL_DETAIL_ROTATION_H_

#include "skald/model/rotation.h"

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_sin_cos.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

SKALD_INLINE Rotation::Rotation(const RopeSpec& rope, size_t rotary_dim)
    : pairs_(rotary_dim / 2), attention_factor_(double{rope.attention_factor}) {
  const FloatEnvironment contract(Denormals::kKept);
  for (size_t pair = 0; pair < pairs_; ++pair) frequencies_[pair] = RopeFrequency(rope, pair, rotary_dim);
}

SKALD_INLINE void Rotation::Write(double position, double factor, float* cos, float* sin) const {
  for (size_t pair = 0; pair < pairs(); ++pair) {
    const SinAndCos turned = PortableSinCos(position * frequencies_[pair]);
    cos[pair] = static_cast<float>(factor * turned.cos);
    sin[pair] = static_cast<float>(factor * turned.sin);
  }
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_ROTATION_H_
