// SPDX-License-Identifier: Apache-2.0
//
// RoPE angles: computed in double and rounded once (arithmetic contract, R4), so that they depend on the position
// only.

#ifndef SKALD_MODEL_ROTATION_H_
#define SKALD_MODEL_ROTATION_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "skald/base/rope.h"

namespace skald {

// The frequencies of one RopeSpec. Immutable.
class Rotation {
 public:
  Rotation(const RopeSpec& rope, size_t rotary_dim) {
    for (size_t pair = 0; pair < rotary_dim / 2; ++pair) frequencies_.push_back(RopeFrequency(rope, pair, rotary_dim));
  }

  // Rotation pairs in a head; none where nothing is rotated.
  size_t pairs() const { return frequencies_.size(); }

  // Writes cos and sin, each [pairs()], of the angles at `position`; for a difference of positions it may be
  // negative.
  void Angles(double position, float* cos, float* sin) const {
    for (size_t pair = 0; pair < pairs(); ++pair) {
      const double angle = position * frequencies_[pair];
      cos[pair] = static_cast<float>(std::cos(angle));
      sin[pair] = static_cast<float>(std::sin(angle));
    }
  }

 private:
  std::vector<double> frequencies_;  // radians per position
};

}  // namespace skald

#endif  // SKALD_MODEL_ROTATION_H_
