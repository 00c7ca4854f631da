// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/rotation.h.

#ifndef SKALD_MODEL_DETAIL_ROTATION_H_
#define SKALD_MODEL_DETAIL_ROTATION_H_

#include "skald/model/rotation.h"

#include "skald/base/inline.h"
#include "skald/base/mathematics/near_sin_cos.h"
#include "skald/base/mathematics/portable_sin_cos.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

SKALD_INLINE Rotation::Rotation(const RopeSpec& rope, size_t rotary_dim)
    : pairs_(rotary_dim / 2), attention_factor_(double{rope.attention_factor}) {
  const FloatEnvironment contract(Denormals::kKept);
  for (size_t pair = 0; pair < pairs_; ++pair) frequencies_[pair] = RopeFrequency(rope, pair, rotary_dim);
}

// The floats of an angle are those of PortableSinCos. Where both ends of the range in which it may lie round to the
// same float, the costly function need not be asked.
SKALD_INLINE void Rotation::Write(double position, double factor, float* cos, float* sin) const {
  constexpr double kBelow = 1.0 - 2 * kSinCosNearness, kAbove = 1.0 + 2 * kSinCosNearness;
  const auto round = [factor](double value) { return static_cast<float>(factor * value); };
  for (size_t pair = 0; pair < pairs(); ++pair) {
    const double angle = position * frequencies_[pair];
    const NearSinAndCos found = NearSinCos(angle);
    cos[pair] = round(found.cos * kBelow);
    sin[pair] = round(found.sin * kBelow);
    if (found.is_near && cos[pair] == round(found.cos * kAbove) && sin[pair] == round(found.sin * kAbove)) continue;
    const SinAndCos exact = PortableSinCos(angle);
    cos[pair] = round(exact.cos);
    sin[pair] = round(exact.sin);
  }
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_ROTATION_H_
