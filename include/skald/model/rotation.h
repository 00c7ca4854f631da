// SPDX-License-Identifier: Apache-2.0
//
// RoPE angles: computed in double and rounded once (arithmetic contract, R4), so that they depend on the position
// only. Rounding is to nearest, whatever the caller has set.

#ifndef SKALD_MODEL_ROTATION_H_
#define SKALD_MODEL_ROTATION_H_

#include <array>
#include <cstddef>

#include "skald/base/numbers/rope.h"
#include "skald/kernels/args.h"

namespace skald {

/// The most rotation pairs in a head.
inline constexpr size_t kMaxPairs = kMaxHeadDim / 2;

/// The frequencies of one RopeSpec. Immutable.
class Rotation {
 public:
  // Rotates nothing.
  Rotation() = default;
  /// `rotary_dim` is at most kMaxHeadDim.
  Rotation(const RopeSpec& rope, size_t rotary_dim);

  /// Rotation pairs in a head; none where nothing is rotated.
  size_t pairs() const { return pairs_; }

  /// Writes cos and sin, each [pairs()], of the angles at `position`, times the attention factor.
  void Angles(double position, float* cos, float* sin) const { Write(position, attention_factor_, cos, sin); }

  /// The same for a difference of positions, without the factor: keys have it already.
  void Turn(double difference, float* cos, float* sin) const { Write(difference, 1.0, cos, sin); }

 private:
  void Write(double position, double factor, float* cos, float* sin) const;

  size_t pairs_ = 0;
  double attention_factor_ = 1.0;
  std::array<double, kMaxPairs> frequencies_{};  ///< radians per position
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/rotation.h"
#endif

#endif  // SKALD_MODEL_ROTATION_H_
