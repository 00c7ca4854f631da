// SPDX-License-Identifier: Apache-2.0
//
// The group-quantised types of packed matrices: one struct each, which holds some neighbouring terms of 16 outputs, a
// pack. A panel, 16 outputs, is an array of packs. A matrix lies as base/numbers/packed_layout.h says with four
// neighbouring k of one output in a lane, and each group of codes lies near its scales, so that weights are read in
// order and each byte once. The padding of N and K has scales and codes of zero.
//
// A type says how many terms a pack and a group have (kTerms, kGroup). Codes are [group][k / 4][output][k % 4] in
// bytes; codes of fewer bits share those bytes, as each struct says.

#ifndef SKALD_BASE_NUMBERS_GROUP_TYPES_H_
#define SKALD_BASE_NUMBERS_GROUP_TYPES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

// The fewest terms of a pack, of which activations are padded to a multiple: so many that the scales of 16 outputs fill
// whole cache lines.
inline constexpr size_t kGroupPadding = 64;

// Groups of 32 with a binary16 scale: weight = scale * code. GGUF's type of the same name in another order.
struct Q8_0 {
  static constexpr size_t kTerms = 64, kGroup = 32, kGroups = kTerms / kGroup, kCodeBits = 8;
  static constexpr int kZero = 0;
  uint16_t scales[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

// Groups of 32 with a binary16 scale: weight = scale * (nibble - 8). Likewise GGUF's. The low nibbles of a byte are
// the first 16 terms of a group, the high nibbles the other 16.
struct Q4_0 {
  static constexpr size_t kTerms = 64, kGroup = 32, kGroups = kTerms / kGroup, kCodeBits = 4;
  static constexpr int kZero = 8;
  uint16_t scales[kGroups][kLanes];
  uint8_t nibbles[kGroups][kGroup / 8][kLanes][4];
};

// Groups of 16 with a float scale and offset: weight = scale * code + offset. Holds exactly what the many block types
// of GGUF mean (weights/types/code_group.h).
struct Q8A {
  static constexpr size_t kTerms = 64, kGroup = 16, kGroups = kTerms / kGroup, kCodeBits = 8;
  static constexpr int kZero = 0;
  float scales[kGroups][kLanes];
  float offsets[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

// The types below have scales of scales: each output a scale and some of them a minimum for 256 terms, in binary16 but
// where it says otherwise, which the small numbers of each group multiply. Codes count from zero. Their low four bits
// lie as in Q4_0; one byte has the bits above them of every kGroup / 4th code, the lowest ones for the first.

// GGUF's type of the same name: groups of 32, weight = scale * scales * nibble - minimum * minima.
struct Q4_K {
  static constexpr size_t kTerms = 256, kGroup = 32, kGroups = kTerms / kGroup, kCodeBits = 4;
  static constexpr bool kHasMinima = true;
  static constexpr int kZero = 0;  // the code of a weight that is zero, but for its minimum
  uint16_t scale[kLanes], minimum[kLanes];
  uint8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  struct {
    uint8_t low[kGroup / 8][kLanes][4];
  } codes[kGroups];
};

// The same with codes of five bits.
struct Q5_K {
  static constexpr size_t kTerms = 256, kGroup = 32, kGroups = kTerms / kGroup, kCodeBits = 5;
  static constexpr bool kHasMinima = true;
  static constexpr int kZero = 0;
  uint16_t scale[kLanes], minimum[kLanes];
  uint8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  struct {
    uint8_t low[kGroup / 8][kLanes][4], high[1][kLanes][4];
  } codes[kGroups];
};

// GGUF's type of the same name: groups of 16, weight = scale * scales * (code - 32).
struct Q6_K {
  static constexpr size_t kTerms = 256, kGroup = 16, kGroups = kTerms / kGroup, kCodeBits = 6;
  static constexpr bool kHasMinima = false;
  static constexpr int kZero = 32;
  uint16_t scale[kLanes], unused[kLanes];
  int8_t scales[kGroups][kLanes];
  struct {
    uint8_t low[kGroup / 8][kLanes][4], high[1][kLanes][4];
  } codes[kGroups];
};

// What holds exactly all that types with scales of scales mean: groups of 16, weight = scale * scales * code - minimum
// * minima. For types that are stacked in one matrix, or have no packed type of their own.
struct Q6A {
  static constexpr size_t kTerms = 256, kGroup = 16, kGroups = kTerms / kGroup, kCodeBits = 6;
  static constexpr bool kHasMinima = true;
  static constexpr int kZero = 0;
  float scale[kLanes], minimum[kLanes];
  int8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  struct {
    uint8_t low[kGroup / 8][kLanes][4], high[1][kLanes][4];
  } codes[kGroups];
};

static_assert(sizeof(Q8_0) == 1088 && sizeof(Q4_0) == 576 && sizeof(Q8A) == 1536);
static_assert(sizeof(Q4_K) == 2368 && sizeof(Q5_K) == 2880 && sizeof(Q6_K) == 3392 && sizeof(Q6A) == 3712);

template <>
inline constexpr DType kDTypeOf<Q8_0> = DType::kQ8_0;
template <>
inline constexpr DType kDTypeOf<Q4_0> = DType::kQ4_0;
template <>
inline constexpr DType kDTypeOf<Q8A> = DType::kQ8A;
template <>
inline constexpr DType kDTypeOf<Q4_K> = DType::kQ4_K;
template <>
inline constexpr DType kDTypeOf<Q5_K> = DType::kQ5_K;
template <>
inline constexpr DType kDTypeOf<Q6_K> = DType::kQ6_K;
template <>
inline constexpr DType kDTypeOf<Q6A> = DType::kQ6A;

template <class T>
inline constexpr bool kIsGrouped = IsGrouped(kDTypeOf<T>);

// The types that the matrices of a model may have, in memory. A program compiles what it does with matrices for each of
// them, kernels above all.
template <class... Ts>
struct WeightTypeList {};

using FloatWeights = WeightTypeList<float, bf16>;
using AllWeights = WeightTypeList<float, Q8_0, Q4_0, Q8A, Q4_K, Q5_K, Q6_K, Q6A, bf16>;

// Whether T has scales of scales.
template <class T>
concept NestedScales = kIsGrouped<T> && requires {
  T::kHasMinima;
};

// Returns a scale as a number.
inline float ScaleOf(uint16_t half) { return FromHalf(half); }
inline float ScaleOf(float scale) { return scale; }

// The weight at term k of one output of a pack.
inline float WeightAt(const Q8_0& pack, size_t lane, size_t k) {
  return FromHalf(pack.scales[k / 32][lane]) * static_cast<float>(pack.codes[k / 32][k % 32 / 4][lane][k % 4]);
}
inline float WeightAt(const Q4_0& pack, size_t lane, size_t k) {
  const int byte = pack.nibbles[k / 32][k % 16 / 4][lane][k % 4];
  return FromHalf(pack.scales[k / 32][lane]) * static_cast<float>((k % 32 < 16 ? byte & 15 : byte >> 4) - 8);
}
inline float WeightAt(const Q8A& pack, size_t lane, size_t k) {
  const float code = pack.codes[k / 16][k % 16 / 4][lane][k % 4];
  return std::fma(pack.scales[k / 16][lane], code, pack.offsets[k / 16][lane]);
}
// Products of a scale and a group's number are exact.
template <NestedScales T>
float WeightAt(const T& pack, size_t lane, size_t k) {
  const size_t group = k / T::kGroup, i = k % T::kGroup, half = T::kGroup / 2;
  const auto& codes = pack.codes[group];
  unsigned code = unsigned{codes.low[i % half / 4][lane][i % 4]} >> (i < half ? 0 : 4) & 15u;
  if constexpr (T::kCodeBits > 4) {
    constexpr size_t kHighBits = T::kCodeBits - 4;
    code |= (unsigned{codes.high[0][lane][i % 4]} >> (i / 4 * kHighBits) & ((1u << kHighBits) - 1)) << 4;
  }
  const float scale = ScaleOf(pack.scale[lane]) * static_cast<float>(pack.scales[group][lane]);
  const auto above_zero = static_cast<float>(static_cast<int>(code) - T::kZero);
  if constexpr (T::kHasMinima) {
    const float minimum = ScaleOf(pack.minimum[lane]) * static_cast<float>(pack.minima[group][lane]);
    return std::fma(scale, above_zero, -minimum);
  } else {
    return scale * above_zero;
  }
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_GROUP_TYPES_H_
