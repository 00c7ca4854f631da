// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/rope.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_ROPE_H_
#define SKALD_BASE_NUMBERS_DETAIL_ROPE_H_

#include "skald/base/numbers/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"

namespace skald {

namespace internal {

// Returns which part of the frequency of pair `pair` is kept, 0 to 1; the rest is divided by the factor.
inline double YarnShare(const RopeSpec& rope, size_t pair, size_t rotary_dim) {
  const auto dim = static_cast<double>(rotary_dim);
  const auto pair_of = [&](double turns) {
    return dim * PortableLog(rope.original_context / (turns * 2.0 * std::numbers::pi)) / (2.0 * PortableLog(rope.base));
  };
  double first = pair_of(rope.high_frequency_factor), last = pair_of(rope.low_frequency_factor);
  if (rope.whole_ramp) first = std::floor(first), last = std::ceil(last);
  first = std::fmax(first, 0.0), last = std::fmin(last, dim - 1.0);
  if (first == last) last += 0.001;
  return 1.0 - std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
}

}  // namespace internal

SKALD_INLINE double RopeFrequency(const RopeSpec& rope, size_t pair, size_t rotary_dim) {
  const double frequency = PortablePow(rope.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim));
  if (rope.scaling == RopeScaling::kNone) return frequency;
  if (rope.scaling == RopeScaling::kLinear) return frequency / rope.factor;
  if (rope.scaling == RopeScaling::kLongRope) return frequency / double{rope.factors[pair]};
  if (rope.scaling == RopeScaling::kProportional) {
    return pair < static_cast<size_t>(rope.turning_pairs) ? frequency : 0.0;
  }
  if (rope.scaling == RopeScaling::kYarn) {
    const double share = internal::YarnShare(rope, pair, rotary_dim);
    return frequency / rope.factor * (1.0 - share) + frequency * share;
  }
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double low = rope.low_frequency_factor, high = rope.high_frequency_factor;
  if (wavelength > rope.original_context / low) return frequency / rope.factor;
  if (wavelength < rope.original_context / high) return frequency;
  const double smooth = (rope.original_context / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_ROPE_H_
