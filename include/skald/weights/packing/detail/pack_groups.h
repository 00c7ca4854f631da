// SPDX-License-Identifier: Apache-2.0
//
// Packing of group-quantised matrices: keeps the codes of a file's groups if the packed type can hold them, and
// otherwise quantises the values.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/detail/fit_group.h"
#include "skald/weights/packing/detail/panels.h"
#include "skald/weights/packing/detail/quantize_blocks.h"
#include "skald/weights/types/code_group.h"

namespace skald::internal {

/// One group of a packed type T.
template <class T>
struct WeightGroup {
  float scale, offset;
  int8_t codes[T::kGroup];
};

/// Returns `value`, rounded to the nearest integer, halves upwards, and limited to [0, limit]. NaN becomes 0.
inline int RoundedUpTo(int limit, float value) {
  return value >= 0.0f ? static_cast<int>(std::min(value, static_cast<float>(limit)) + 0.5f) : 0;
}

/// The codes of values in T's list.
template <ListsValues T>
struct CodesOfValues {
  constexpr CodesOfValues() {
    for (size_t code = 16; code-- > 0;) codes[T::kValues[code] + 128] = static_cast<uint8_t>(code);
  }
  uint8_t codes[256] = {};
};
template <ListsValues T>
inline constexpr CodesOfValues<T> kCodesOfValues;

/// Returns the code of T for a value.
template <class T>
unsigned CodeOf(int value) {
  if constexpr (ListsValues<T>)
    return kCodesOfValues<T>.codes[value + 128];
  else
    return static_cast<unsigned>(value + T::kZero);
}

/// Returns `value`, from -127 to 127, rounded to the nearest integer, halves away from zero. NaN becomes -127.
inline int8_t RoundedCode(float value) {
  const float limited = value >= -127.0f ? std::min(value, 127.0f) : -127.0f;
  return static_cast<int8_t>(limited + (limited < 0.0f ? -0.5f : 0.5f));
}

/// The quantisers below take T::kGroup finite values. They are GGML's (ggml-quants.c, quantize_row_q8_0_ref and
/// quantize_row_q4_0_ref): codes come from the scale before its rounding to binary16.
inline WeightGroup<Q8_0> QuantizeGroup(const float* values, WeightGroup<Q8_0> group) {
  float largest = 0.0f;
  for (size_t i = 0; i < Q8_0::kGroup; ++i) largest = std::max(largest, std::abs(values[i]));
  group.scale = largest / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q8_0::kGroup; ++i) group.codes[i] = RoundedCode(values[i] * inverse);
  return group;
}

/// The value of largest magnitude gets the code 0, which has no counterpart of the other sign.
template <class T>
requires(!HasOffsets<T> && !ListsValues<T>)  //
    WeightGroup<T> QuantizeGroup(const float* values, WeightGroup<T> group) {
  constexpr int kLargest = (1 << T::kCodeBits) - 1;
  group.scale = ExtremeOf(values, T::kGroup) / static_cast<float>(-T::kZero);
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < T::kGroup; ++i) {
    const float shifted = values[i] * inverse + (T::kZero + 0.5f);  // 0.5 to 2 * kZero + 0.5
    const float code = shifted >= 0.0f ? std::min(shifted, static_cast<float>(kLargest)) : 0.0f;
    group.codes[i] = static_cast<int8_t>(static_cast<int>(code) - T::kZero);
  }
  return group;
}

/// The smallest value is the offset (quantize_row_q4_1_ref).
template <class T>
requires(HasOffsets<T>&& T::kCodeBits < 8)  //
    WeightGroup<T> QuantizeGroup(const float* values, WeightGroup<T> group) {
  constexpr int kLargest = kLargestCode<T>;
  const auto [low, high] = std::minmax_element(values, values + T::kGroup);
  group.offset = *low;
  group.scale = *high / kLargest - *low / kLargest;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < T::kGroup; ++i) {
    group.codes[i] = static_cast<int8_t>(RoundedUpTo(kLargest, (values[i] - group.offset) * inverse));
  }
  return group;
}

inline WeightGroup<IQ4_NL> QuantizeGroup(const float* values, WeightGroup<IQ4_NL> group) {
  GroupSums sums;
  group.scale = FitGroup<IQ4_NL>(values, sums).scale;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < IQ4_NL::kGroup; ++i) group.codes[i] = NearestValue<IQ4_NL>(values[i] * inverse);
  return group;
}

/// The largest magnitude is 4 to 8 of four-bit floats, of which the largest is 6 (Microscaling Formats, 6.3).
inline WeightGroup<MXFP4> QuantizeGroup(const float* values, WeightGroup<MXFP4> group) {
  const float extreme = std::abs(ExtremeOf(values, MXFP4::kGroup));
  group.scale = extreme < 0x1p-100f ? 0.0f : std::ldexp(1.0f, std::ilogb(extreme) - 3);
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < MXFP4::kGroup; ++i) group.codes[i] = NearestValue<MXFP4>(values[i] * inverse);
  return group;
}

/// The largest magnitude gets the code of the largest value.
inline WeightGroup<NVFP4> QuantizeGroup(const float* values, WeightGroup<NVFP4> group) {
  group.scale = std::abs(ExtremeOf(values, NVFP4::kGroup)) / 12.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < NVFP4::kGroup; ++i) group.codes[i] = NearestValue<NVFP4>(values[i] * inverse);
  return group;
}

/// The smallest value gets the code -127, the largest 127.
template <class T>
requires(HasOffsets<T>&& T::kCodeBits == 8)  //
    WeightGroup<T> QuantizeGroup(const float* values, WeightGroup<T> group) {
  const auto [low, high] = std::minmax_element(values, values + T::kGroup);
  group.offset = 0.5f * *low + 0.5f * *high;
  group.scale = (*high - group.offset) / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < T::kGroup; ++i) group.codes[i] = RoundedCode((values[i] - group.offset) * inverse);
  return group;
}

/// Returns a group with this scale and offset, rounded as files hold them, and the codes that are nearest then.
template <class T>
WeightGroup<T> GroupWith(const float* values, float scale, float offset) {
  const auto rounded = [](float value) { return FromHalf(ToHalf(value)); };
  WeightGroup<T> group = {kDTypeOf<T> == DType::kMXFP4 ? scale : rounded(scale), rounded(offset), {}};
  GroupCodes<T> codes;
  EncodeGroup<T>(values, InverseOf(group.scale), -group.offset, codes);
  for (size_t i = 0; i < T::kGroup; ++i) group.codes[i] = static_cast<int8_t>(codes[i]);
  return group;
}

/// Returns the sum of the group's squared errors, each multiplied by its weight.
template <class T>
float WeightedError(const float* values, const float* weights, const WeightGroup<T>& group) {
  GroupCodes<T> errors;
  for (size_t i = 0; i < T::kGroup; ++i) {
    const float error = values[i] - (group.scale * static_cast<float>(group.codes[i]) + group.offset);
    errors[i] = weights[i] * error * error;
  }
  return SumOf(errors);
}

/// The group with the least error of QuantizeGroup's and of some that are fitted to errors with these weights, which
/// are positive. Eight bits are enough for any.
template <class T>
WeightGroup<T> QuantizeWeighted(const float* values, const float* weights) {
  WeightGroup<T> best = QuantizeGroup(values, WeightGroup<T>{});
  if constexpr (T::kCodeBits == 8) return best;
  float least = WeightedError(values, weights, best);
  const auto try_one = [&](float scale, float offset) {
    const WeightGroup<T> tried = GroupWith<T>(values, scale, offset);
    const float error = WeightedError(values, weights, tried);
    if (error < least) least = error, best = tried;
    return tried;
  };
  if constexpr (kDTypeOf<T> == DType::kMXFP4) {
    const float scale = best.scale;
    for (const float factor : {0.5f, 2.0f}) try_one(scale * factor, 0.0f);
  } else {
    constexpr float kMoreReaches[] = {0.0f, -1.5f, -1.0f, -0.5f, 0.5f, 1.0f, 1.5f, 2.0f};
    constexpr int kRounds = 3;  // of codes and scales, each with the others fixed
    GroupSums sums;
    GroupFit fit = FitGroup<T>(values, sums, weights, kMoreReaches);
    for (int turn = 0; turn < kRounds; ++turn) {
      const WeightGroup<T> tried = try_one(fit.scale, -fit.minimum);
      GroupCodes<T> codes;
      for (size_t i = 0; i < T::kGroup; ++i) codes[i] = tried.codes[i];
      fit = LeastSquares<T>(SumsOf<T>(values, codes, weights));
    }
  }
  return best;
}

/// Whether T represents groups of this format exactly.
template <class T>
bool HoldsExactly(const GroupFormat& format) {
  if (format.decode == nullptr) return false;
  return format.packed == kDTypeOf<T> || (std::is_same_v<T, Q6A> && format.FitsQ6A()) ||
         (std::is_same_v<T, Q8A32> && format.FitsQ8A32()) || std::is_same_v<T, Q8A>;
}

/// Returns one group of T from its CodeGroups, which have one scale and offset.
template <class T>
WeightGroup<T> JoinGroups(const CodeGroup* groups) {
  WeightGroup<T> joined = {groups->scale, groups->offset, {}};
  for (size_t i = 0; i < T::kGroup; i += kCodeGroup) {
    std::memcpy(joined.codes + i, groups[i / kCodeGroup].codes, kCodeGroup);
  }
  return joined;
}

inline void StoreScale(float scale, float& to) { to = scale; }
inline void StoreScale(float scale, uint16_t& half) { half = ToHalf(scale); }
inline void StoreScale(float scale,
                       uint8_t& exponent) {  // a power of two; a value that counts as zero becomes the least one
  exponent = static_cast<uint8_t>((std::bit_cast<uint32_t>(scale) >> 23) + 1);
}

/// Writes group `index` of one output of a pack.
template <class T>
void StoreGroup(const WeightGroup<T>& group, size_t index, size_t lane, T& pack) {
  StoreScale(group.scale, pack.scales[index][lane]);
  if constexpr (HasOffsets<T>) StoreScale(group.offset, pack.offsets[index][lane]);
  if constexpr (T::kCodeBits == 8) {
    for (size_t i = 0; i < T::kGroup; i += 4) std::memcpy(pack.codes[index][i / 4][lane], group.codes + i, 4);
  } else {
    uint8_t codes[T::kGroup];
    for (size_t i = 0; i < T::kGroup; ++i) codes[i] = static_cast<uint8_t>(CodeOf<T>(group.codes[i]));
    SetCodes(codes, lane, pack.codes[index]);
  }
}

/// Packs elements [begin, begin + count) of a row; begin is a multiple of 256, and count at most 256.
template <class T>
void PackRowOfGroups(const PackRow& row, size_t begin, size_t count, size_t lane, T* packs) {
  WeightGroup<T> groups[256 / T::kGroup];
  const size_t num_groups = (count + T::kGroup - 1) / T::kGroup;
  if (row.format != nullptr && HoldsExactly<T>(*row.format)) {
    CodeGroup decoded[256 / kCodeGroup];
    DecodeGroups(row, begin, begin + count, decoded);
    for (size_t g = 0; g < num_groups; ++g) groups[g] = JoinGroups<T>(decoded + g * T::kGroup / kCodeGroup);
  } else {
    float values[256] = {};
    for (size_t i = 0; i < count; i += kTile) ReadTile(row, begin + i, std::min(kTile, count - i), values + i);
    for (size_t g = 0; g < num_groups; ++g) groups[g] = QuantizeGroup(values + g * T::kGroup, WeightGroup<T>{});
  }
  for (size_t g = 0; g < num_groups; ++g) StoreGroup(groups[g], g % T::kGroups, lane, packs[g / T::kGroups]);
}

/// Writes the scales of one output of a pack.
template <NestedScales T>
void StoreScales(const CodeBlock& block, size_t lane, T& pack) {
  StoreScale(block.scale, pack.scale[lane]);
  if constexpr (HasOffsets<T>) StoreScale(block.minimum, pack.minimum[lane]);
  for (size_t g = 0; g < T::kGroups; ++g) {
    const size_t first = g * T::kGroup / kCodeGroup;
    if constexpr (std::is_same_v<T, Q2_K>) {
      pack.both[g][lane] = static_cast<uint8_t>(block.scales[first] | block.minima[first] << 4);
    } else {
      pack.scales[g][lane] = static_cast<std::remove_reference_t<decltype(pack.scales[g][lane])>>(block.scales[first]);
      if constexpr (HasOffsets<T>) pack.minima[g][lane] = block.minima[first];
    }
  }
}

/// Codes that count from below zero have the minimum -zero * scale.
inline void StoreScales(const CodeBlock& block, size_t lane, Q6A& pack) {
  pack.scale[lane] = block.scale;
  pack.minimum[lane] = block.zero == 0 ? block.minimum : block.scale * static_cast<float>(block.zero);
  for (size_t g = 0; g < Q6A::kGroups; ++g) {
    pack.scales[g][lane] = block.scales[g];
    pack.minima[g][lane] = block.zero == 0 ? static_cast<int8_t>(block.minima[g]) : block.scales[g];
  }
}

/// Writes the block of one output of a pack.
template <NestedScales T>
void StoreBlock(const CodeBlock& block, size_t lane, T& pack) {
  StoreScales(block, lane, pack);
  uint8_t codes[CodeBlock::kWeights];
  for (size_t i = 0; i < CodeBlock::kWeights; ++i) {
    codes[i] = ListsValues<T> ? static_cast<uint8_t>(CodeOf<T>(block.codes[i] - block.zero)) : block.codes[i];
  }
  for (size_t i = 0; i < CodeBlock::kWeights; i += kPlaneTerms<T>) {
    SetCodes(codes + i, lane, pack.codes[i / kPlaneTerms<T>]);
  }
}

/// Packs elements [begin, begin + count) of a row; begin is a multiple of 256, and count at most 256.
template <NestedScales T>
void PackRowOfGroups(const PackRow& row, size_t begin, size_t count, size_t lane, T* pack) {
  if (row.format != nullptr && HoldsExactly<T>(*row.format)) {
    CodeBlock block;
    row.format->decode_block(row.bytes + begin / CodeBlock::kWeights * row.format->block_bytes, block);
    StoreBlock(block, lane, *pack);
  } else {
    float values[CodeBlock::kWeights] = {};
    for (size_t i = 0; i < count; i += kTile) ReadTile(row, begin + i, std::min(kTile, count - i), values + i);
    StoreBlock(QuantizeBlock<T>(values), lane, *pack);
  }
}

/// Writes one panel of `cols` columns to `output`, which is zero.
template <class T>
requires kIsGrouped<T>
void PackPanel(const PackRow (&rows)[kLanes], size_t cols, T* output) {
  for (size_t begin = 0; begin < cols; begin += 256) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (rows[lane].bytes == nullptr) continue;
      PackRowOfGroups(rows[lane], begin, std::min<size_t>(256, cols - begin), lane, output + begin / T::kTerms);
    }
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACK_GROUPS_H_
