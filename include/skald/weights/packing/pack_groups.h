// SPDX-License-Identifier: Apache-2.0
//
// Packing of group-quantised matrices: codes of a file's groups as they are where the packed type can hold them, and
// otherwise quantisation of the values.

#ifndef SKALD_WEIGHTS_PACKING_PACK_GROUPS_H_
#define SKALD_WEIGHTS_PACKING_PACK_GROUPS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/types/code_group.h"

namespace skald::internal {

// One group of a packed type T.
template <class T>
struct WeightGroup {
  float scale, offset;
  int8_t codes[T::kGroup];
};

// Returns `value`, from -127 to 127, rounded to the nearest integer, halves away from zero. NaN becomes -127.
inline int8_t RoundedCode(float value) {
  const float limited = value >= -127.0f ? std::min(value, 127.0f) : -127.0f;
  return static_cast<int8_t>(limited + (limited < 0.0f ? -0.5f : 0.5f));
}

// Returns 1 / scale, or 0 where that would overflow: such a group is zero.
inline float InverseOf(float scale) { return std::abs(scale) < 0x1p-100f ? 0.0f : 1.0f / scale; }

// The quantisers below take T::kGroup finite values. They are GGML's (ggml-quants.c, quantize_row_q8_0_ref and
// quantize_row_q4_0_ref): codes come from the scale before its rounding to binary16.
inline WeightGroup<Q8_0> QuantizeGroup(const float* values, WeightGroup<Q8_0> group) {
  float largest = 0.0f;
  for (size_t i = 0; i < Q8_0::kGroup; ++i) largest = std::max(largest, std::abs(values[i]));
  group.scale = largest / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q8_0::kGroup; ++i) group.codes[i] = RoundedCode(values[i] * inverse);
  return group;
}

// The value of largest magnitude gets the code -8, which has no counterpart.
inline WeightGroup<Q4_0> QuantizeGroup(const float* values, WeightGroup<Q4_0> group) {
  float extreme = 0.0f;
  for (size_t i = 0; i < Q4_0::kGroup; ++i) {
    if (std::abs(values[i]) > std::abs(extreme)) extreme = values[i];
  }
  group.scale = extreme / -8.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q4_0::kGroup; ++i) {
    const float shifted = values[i] * inverse + 8.5f;  // 0.5 to 16.5
    group.codes[i] = static_cast<int8_t>(static_cast<int>(shifted >= 0.0f ? std::min(shifted, 15.0f) : 0.0f) - 8);
  }
  return group;
}

// The smallest value gets the code -127, the largest 127.
inline WeightGroup<Q8A> QuantizeGroup(const float* values, WeightGroup<Q8A> group) {
  const auto [low, high] = std::minmax_element(values, values + Q8A::kGroup);
  group.offset = 0.5f * *low + 0.5f * *high;
  group.scale = (*high - group.offset) / 127.0f;
  const float inverse = InverseOf(group.scale);
  for (size_t i = 0; i < Q8A::kGroup; ++i) group.codes[i] = RoundedCode((values[i] - group.offset) * inverse);
  return group;
}

// Whether T means exactly what groups of this format mean.
template <class T>
bool HoldsExactly(const GroupFormat& format) {
  const bool holds_nested = std::is_same_v<T, Q6A> && format.decode_block != nullptr;
  return format.packed == kDTypeOf<T> || holds_nested || std::is_same_v<T, Q8A>;
}

// Returns one group of T from the CodeGroups that make it up, which have one scale and offset.
template <class T>
WeightGroup<T> JoinGroups(const CodeGroup* groups) {
  WeightGroup<T> joined = {groups->scale, groups->offset, {}};
  for (size_t i = 0; i < T::kGroup; i += kCodeGroup) {
    std::memcpy(joined.codes + i, groups[i / kCodeGroup].codes, kCodeGroup);
  }
  return joined;
}

// Writes group `index` of one output of a pack.
template <class T>
void StoreGroup(const WeightGroup<T>& group, size_t index, size_t lane, T& pack) {
  if constexpr (std::is_same_v<T, Q8A>) {
    pack.scales[index][lane] = group.scale;
    pack.offsets[index][lane] = group.offset;
  } else {
    pack.scales[index][lane] = ToHalf(group.scale);
  }
  if constexpr (std::is_same_v<T, Q4_0>) {
    constexpr size_t kHalf = Q4_0::kGroup / 2;
    for (size_t i = 0; i < kHalf; ++i) {
      pack.nibbles[index][i / 4][lane][i % 4] =
          static_cast<uint8_t>(group.codes[i] + 8 + (group.codes[i + kHalf] + 8) * 16);
    }
  } else {
    for (size_t i = 0; i < T::kGroup; ++i) pack.codes[index][i / 4][lane][i % 4] = group.codes[i];
  }
}

// Packs elements [begin, begin + count) of a row; begin is a multiple of 256, and count at most 256.
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

// Returns `value`, rounded to the nearest integer, halves upwards, and limited to [0, limit]. NaN becomes 0.
inline int RoundedUpTo(int limit, float value) {
  return value >= 0.0f ? static_cast<int>(std::min(value, static_cast<float>(limit)) + 0.5f) : 0;
}

// Returns 256 finite values as numbers of T. Each group has the scale and minimum between which its values lie, or,
// without a minimum, the scale that reaches its largest magnitude.
template <NestedScales T>
CodeBlock QuantizeBlock(const float* values) {
  constexpr int kLargestCode = (1 << T::kCodeBits) - 1, kLargestNumber = T::kHasMinima ? 63 : 127;
  constexpr size_t kGroups = CodeBlock::kWeights / kCodeGroup;
  float scales[kGroups], minima[kGroups], scale = 0.0f, minimum = 0.0f;
  for (size_t g = 0; g < kGroups; ++g) {
    const float* const group = values + g * kCodeGroup / T::kGroup * T::kGroup;
    const auto [lowest, highest] = std::minmax_element(group, group + T::kGroup);
    minima[g] = T::kHasMinima ? std::max(0.0f, -*lowest) : 0.0f;
    const float range = T::kHasMinima ? *highest + minima[g] : std::max(*highest, -*lowest);
    scales[g] = range / static_cast<float>(kLargestCode - T::kZero);
    scale = std::max(scale, scales[g] / kLargestNumber), minimum = std::max(minimum, minima[g] / kLargestNumber);
  }
  CodeBlock block = {ToHalf(scale), ToHalf(minimum), {}, {}, {}, T::kZero};
  const float exact_scale = FromHalf(block.scale), exact_minimum = FromHalf(block.minimum);
  for (size_t g = 0; g < kGroups; ++g) {
    const int number = RoundedUpTo(kLargestNumber, scales[g] * InverseOf(exact_scale));
    const int minimum_number = RoundedUpTo(kLargestNumber, minima[g] * InverseOf(exact_minimum));
    block.scales[g] = static_cast<int8_t>(number), block.minima[g] = static_cast<uint8_t>(minimum_number);
    const float inverse = InverseOf(exact_scale * static_cast<float>(number));
    const float from = exact_minimum * static_cast<float>(minimum_number);
    for (size_t i = g * kCodeGroup; i < (g + 1) * kCodeGroup; ++i) {
      block.codes[i] = static_cast<uint8_t>(RoundedUpTo(kLargestCode, (values[i] + from) * inverse + T::kZero));
    }
  }
  return block;
}

// Writes the scales of one output of a pack.
template <NestedScales T>
void StoreScales(const CodeBlock& block, size_t lane, T& pack) {
  pack.scale[lane] = block.scale;
  if constexpr (T::kHasMinima) pack.minimum[lane] = block.minimum;
  for (size_t g = 0; g < T::kGroups; ++g) {
    const size_t first = g * T::kGroup / kCodeGroup;
    pack.scales[g][lane] = block.scales[first];
    if constexpr (T::kHasMinima) pack.minima[g][lane] = block.minima[first];
  }
}

// Codes that count from below zero have the minimum -zero * scale.
inline void StoreScales(const CodeBlock& block, size_t lane, Q6A& pack) {
  const float scale = FromHalf(block.scale);
  pack.scale[lane] = scale;
  pack.minimum[lane] = block.zero == 0 ? FromHalf(block.minimum) : scale * static_cast<float>(block.zero);
  for (size_t g = 0; g < Q6A::kGroups; ++g) {
    pack.scales[g][lane] = block.scales[g];
    pack.minima[g][lane] = block.zero == 0 ? static_cast<int8_t>(block.minima[g]) : block.scales[g];
  }
}

// Writes the block of one output of a pack.
template <NestedScales T>
void StoreBlock(const CodeBlock& block, size_t lane, T& pack) {
  StoreScales(block, lane, pack);
  for (size_t g = 0; g < T::kGroups; ++g) {
    const uint8_t* const codes = block.codes + g * T::kGroup;
    constexpr size_t kHalf = T::kGroup / 2;
    for (size_t i = 0; i < kHalf; ++i) {
      pack.codes[g].low[i / 4][lane][i % 4] = static_cast<uint8_t>((codes[i] & 15) | codes[i + kHalf] << 4);
    }
    if constexpr (T::kCodeBits > 4) {
      for (size_t i = 0; i < T::kGroup; ++i) {
        uint8_t& bits = pack.codes[g].high[0][lane][i % 4];
        bits = static_cast<uint8_t>(bits | codes[i] >> 4 << (i / 4 * (T::kCodeBits - 4)));
      }
    }
  }
}

// Packs elements [begin, begin + count) of a row; begin is a multiple of 256, and count at most 256.
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

// Writes one panel of `cols` columns to `output`, which is zero.
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

#endif  // SKALD_WEIGHTS_PACKING_PACK_GROUPS_H_
