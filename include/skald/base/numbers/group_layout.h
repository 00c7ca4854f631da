// SPDX-License-Identifier: Apache-2.0
//
// Group-quantised matrices and the activations that they are multiplied by (arithmetic contract, R2). A matrix is
// packed as base/numbers/packed_layout.h says with four neighbouring k of one output in a lane, and each group of codes
// lies right beside its scales, so that weights are read in order and each byte once.

#ifndef SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_
#define SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

// Terms stored together, and K's padding: so many that the scales of 16 outputs fill whole cache lines.
inline constexpr size_t kGroupPadding = 64;

// A panel, 16 outputs, is an array of padded_k / kGroupPadding of one of the structs below. Codes are
// [group][k / 4][output][k % 4]; the padding of N and K has scales and codes of zero.

// Groups of 32 with a binary16 scale: weight = scale * code. GGUF's type of the same name in another order.
struct Q8_0 {
  static constexpr size_t kGroup = 32, kGroups = kGroupPadding / kGroup;
  uint16_t scales[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

// Groups of 32 with a binary16 scale: weight = scale * (nibble - 8). Likewise GGUF's. The low nibbles of a byte are
// the first 16 terms of a group, the high nibbles the other 16.
struct Q4_0 {
  static constexpr size_t kGroup = 32, kGroups = kGroupPadding / kGroup;
  uint16_t scales[kGroups][kLanes];
  uint8_t nibbles[kGroups][kGroup / 8][kLanes][4];
};

// Groups of 16 with a float scale and offset: weight = scale * code + offset. Holds exactly what the many block types
// of GGUF mean (weights/types/code_group.h).
struct Q8A {
  static constexpr size_t kGroup = 16, kGroups = kGroupPadding / kGroup;
  float scales[kGroups][kLanes];
  float offsets[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

static_assert(sizeof(Q8_0) == 1088 && sizeof(Q4_0) == 576 && sizeof(Q8A) == 1536);

template <class T>
inline constexpr bool kIsGrouped = std::is_same_v<T, Q8_0> || std::is_same_v<T, Q4_0> || std::is_same_v<T, Q8A>;

template <>
inline constexpr DType kDTypeOf<Q8_0> = DType::kQ8_0;
template <>
inline constexpr DType kDTypeOf<Q4_0> = DType::kQ4_0;
template <>
inline constexpr DType kDTypeOf<Q8A> = DType::kQ8A;

// Calls `function.template operator()<T>()` with the C++ type in which a matrix of this type is packed. kF16, which is
// none, counts as kBF16.
template <class Function>
decltype(auto) VisitWeightType(DType type, Function&& function) {
  switch (type) {
    case DType::kF32:
      return function.template operator()<float>();
    case DType::kQ8_0:
      return function.template operator()<Q8_0>();
    case DType::kQ4_0:
      return function.template operator()<Q4_0>();
    case DType::kQ8A:
      return function.template operator()<Q8A>();
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  return function.template operator()<bf16>();
}

// What K of a packed matrix is padded to, and the bytes of a packed matrix [n, k].
template <class T>
constexpr size_t PaddedK(size_t k) {
  return RoundUp(k, kIsGrouped<T> ? kGroupPadding : kTile);
}
template <class T>
constexpr size_t PackedBytes(size_t n, size_t k) {
  return RoundUp(n, kLanes) * PaddedK<T>(k) / (kIsGrouped<T> ? kGroupPadding * kLanes : 1) * sizeof(T);
}

// The weight at term k of one output of a pack of kGroupPadding terms.
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

// Returns element (n, k) of a packed matrix of any type, as a float.
template <class T>
float ElementOf(const T* weights, size_t n, size_t k, size_t padded_k) {
  if constexpr (kIsGrouped<T>) {
    const T& pack = weights[n / kLanes * (padded_k / kGroupPadding) + k / kGroupPadding];
    return WeightAt(pack, n % kLanes, k % kGroupPadding);
  } else {
    return ToFloat(weights[PackedIndex<T>(n, k, padded_k)]);
  }
}

// Activations that share one scale. GGML quantises the activations of its K-quants by the same number.
inline constexpr size_t kActivationBlock = 256;

// Groups of activations, whose codes lie together, and the finest grouping of their sums.
inline constexpr size_t kActivationGroup = 32, kActivationSum = 16;

// Rows of activations as int8: value = scale * code, a scale for each block of kActivationBlock terms. Sixteen rows
// lie together, group by group, so that a group of them is one AMX tile; few rows lie in eights, and a single row by
// itself. Kernels read the rows that pad the last ones along with them, for sums that nobody reads: they are zeros.
// Does not own its memory.
struct QuantizedRows {
  size_t height;    // 1 for one row, 8 for up to 8, else 16
  size_t padded_k;  // a multiple of kGroupPadding
  int8_t* codes;    // [rows / height][padded_k / 32][height][32]
  float* scales;    // [rows / height][blocks][height]
  int32_t* sums;    // [rows / height][padded_k / 16][height]: the sum of 16 codes

  static constexpr size_t Height(size_t rows) { return rows == 1 ? 1 : rows <= 8 ? 8 : kLanes; }
  static constexpr size_t Blocks(size_t padded_k) { return RoundUp(padded_k, kActivationBlock) / kActivationBlock; }
  static constexpr size_t Bytes(size_t rows, size_t padded_k) {
    const size_t words = padded_k / 4 + Blocks(padded_k) + padded_k / kActivationSum;
    return RoundUp(RoundUp(rows, Height(rows)) * words * 4, kAlignment);
  }

  // `memory` holds Bytes(rows, padded_k).
  static QuantizedRows In(std::byte* memory, size_t rows, size_t padded_k) {
    const size_t height = Height(rows), padded_rows = RoundUp(rows, height);
    std::byte* const scales = memory + padded_rows * padded_k;
    std::byte* const sums = scales + padded_rows * Blocks(padded_k) * sizeof(float);
    return {height, padded_k, reinterpret_cast<int8_t*>(memory), reinterpret_cast<float*>(scales),
            reinterpret_cast<int32_t*>(sums)};
  }

  // Where term k of a row is found; k is a multiple of what the array counts.
  int8_t* CodesAt(size_t row, size_t k) const {
    const size_t first = row / height * height;
    return codes + first * padded_k + k / kActivationGroup * height * kActivationGroup +
           row % height * kActivationGroup + k % kActivationGroup;
  }
  float* ScaleAt(size_t row, size_t k) const {
    return scales + row / height * height * Blocks(padded_k) + k / kActivationBlock * height + row % height;
  }
  int32_t* SumAt(size_t row, size_t k) const {
    return sums + row / height * height * (padded_k / kActivationSum) + k / kActivationSum * height + row % height;
  }
};

// What a matrix of T is multiplied by: T in the order of PreparedIndex, or quantised rows. T may be const where they
// are read.
template <class T>
using Prepared = std::conditional_t<kIsGrouped<std::remove_const_t<T>>, QuantizedRows, T*>;

template <class T>
constexpr size_t PreparedBytes(size_t rows, size_t padded_k) {
  if constexpr (kIsGrouped<T>)
    return QuantizedRows::Bytes(rows, padded_k);
  else
    return PreparedSize(rows, padded_k) * sizeof(T);
}

template <class T>
Prepared<T> PreparedIn(std::byte* memory, size_t rows, size_t padded_k) {
  if constexpr (kIsGrouped<T>)
    return QuantizedRows::In(memory, rows, padded_k);
  else
    return reinterpret_cast<T*>(memory);
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_
