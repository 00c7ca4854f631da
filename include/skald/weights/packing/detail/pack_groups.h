// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/pack_groups.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_

#include "skald/weights/packing/pack_groups.h"

#include <bit>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/base/numbers/group_layout.h"

namespace skald {

namespace internal {

// Returns `value`, from -127 to 127, rounded to the nearest integer, halves away from zero. NaN becomes -127.
inline int8_t RoundedCode(float value) {
  const float limited = value >= -127.0f ? std::min(value, 127.0f) : -127.0f;
  return static_cast<int8_t>(limited + (limited < 0.0f ? -0.5f : 0.5f));
}

SKALD_INLINE int RoundedUpTo(int limit, float value) {
  return value >= 0.0f ? static_cast<int>(std::min(value, static_cast<float>(limit)) + 0.5f) : 0;
}

SKALD_INLINE WeightGroup<Q8_0> QuantizeGroup(const float* values, WeightGroup<Q8_0> group) {
  float largest = 0.0f;
  for (size_t i = 0; i < Q8_0::kGroup; ++i) largest = std::max(largest, std::abs(values[i]));
  group.scale = largest / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q8_0::kGroup; ++i) group.codes[i] = RoundedCode(values[i] * inverse);
  return group;
}

SKALD_INLINE WeightGroup<IQ4_NL> QuantizeGroup(const float* values, WeightGroup<IQ4_NL> group) {
  GroupSums sums;
  group.scale = FitGroup<IQ4_NL>(values, sums).scale;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < IQ4_NL::kGroup; ++i) group.codes[i] = NearestValue<IQ4_NL>(values[i] * inverse);
  return group;
}

SKALD_INLINE WeightGroup<MXFP4> QuantizeGroup(const float* values, WeightGroup<MXFP4> group) {
  const float extreme = std::abs(ExtremeOf(values, MXFP4::kGroup));
  group.scale = extreme < 0x1p-100f ? 0.0f : std::ldexp(1.0f, std::ilogb(extreme) - 3);
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < MXFP4::kGroup; ++i) group.codes[i] = NearestValue<MXFP4>(values[i] * inverse);
  return group;
}

SKALD_INLINE WeightGroup<Q8A> QuantizeGroup(const float* values, WeightGroup<Q8A> group) {
  const auto [low, high] = std::minmax_element(values, values + Q8A::kGroup);
  group.offset = 0.5f * *low + 0.5f * *high;
  group.scale = (*high - group.offset) / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q8A::kGroup; ++i) group.codes[i] = RoundedCode((values[i] - group.offset) * inverse);
  return group;
}

SKALD_INLINE void StoreScale(float scale, uint16_t& half) { half = ToHalf(scale); }

SKALD_INLINE void StoreScale(float scale,
                             uint8_t& exponent) {  // a power of two; a value that counts as zero becomes the least one
  exponent = static_cast<uint8_t>((std::bit_cast<uint32_t>(scale) >> 23) + 1);
}

SKALD_INLINE void StoreScales(const CodeBlock& block, size_t lane, Q6A& pack) {
  pack.scale[lane] = block.scale;
  pack.minimum[lane] = block.zero == 0 ? block.minimum : block.scale * static_cast<float>(block.zero);
  for (size_t g = 0; g < Q6A::kGroups; ++g) {
    pack.scales[g][lane] = block.scales[g];
    pack.minima[g][lane] = block.zero == 0 ? static_cast<int8_t>(block.minima[g]) : block.scales[g];
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_
