// SPDX-License-Identifier: Apache-2.0
//
// Packed matrices of any type, group-quantised ones (base/numbers/group_types.h) included, and the activations that
// group-quantised matrices are multiplied by (arithmetic contract, R2).

#ifndef SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_
#define SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

namespace internal {

template <class First, class... Others, class Function>
decltype(auto) VisitTypes(WeightTypeList<First, Others...>, DType type, Function&& function) {
  if constexpr (sizeof...(Others) > 0) {
    if (type != kDTypeOf<First>) return VisitTypes(WeightTypeList<Others...>{}, type, function);
  }
  return function.template operator()<First>();
}

}  // namespace internal

/// Calls `function.template operator()<T>()` with the C++ type in which a matrix of this type is packed. kF16, which is
/// not packed, counts as the last one.
template <class Function>
decltype(auto) VisitWeightType(DType type, Function&& function) {
  return internal::VisitTypes(AllWeights{}, type, function);
}

/// The multiple to which K of a packed matrix is padded, and the bytes of a packed matrix [n, k].
template <class T>
constexpr size_t PaddedK(size_t k) {
  if constexpr (Packs<T>)
    return RoundUp(k, T::kTerms);
  else
    return RoundUp(k, kTile);
}
template <class T>
constexpr size_t PackedBytes(size_t n, size_t k) {
  if constexpr (Packs<T>)
    return RoundUp(n, kLanes) / kLanes * (PaddedK<T>(k) / T::kTerms) * sizeof(T);
  else
    return RoundUp(n, kLanes) * PaddedK<T>(k) * sizeof(T);
}

/// Terms of activations that are multiplied together: a block of weights with scales of scales.
inline constexpr size_t kActivationBlock = 256;

/// Groups of activations, whose codes lie together, and the finest grouping of their sums.
inline constexpr size_t kActivationGroup = 32, kActivationSum = 16;

/// The terms of activations that share one scale where they are multiplied by T, a divisor of kActivationBlock. GGML
/// quantises the activations of its types by the same numbers.
template <class T>
inline constexpr size_t kScaledTerms = NestedScales<T> ? kActivationBlock : kActivationGroup;

/// Rows of activations as int8: value = scale * code, with a scale for each `scaled_terms`. Sixteen rows are stored
/// together, group by group, so that a group of them is one AMX tile; a few rows are stored in blocks
/// of eight, and a single row by itself. Kernels also read the padding rows, whose sums are discarded: they are zeros.
/// Does not own its memory.
struct QuantizedRows {
  size_t height;        ///< 1 for one row, 8 for up to 8, else 16
  size_t padded_k;      ///< a multiple of kGroupPadding
  size_t scaled_terms;  ///< kScaledTerms of the weights
  int8_t* codes;        ///< [rows / height][padded_k / 32][height][32]
  float* scales;        ///< [rows / height][scales of a row][height]
  int16_t* sums;        ///< [rows / height][padded_k / 32][height][2]: the sums of 16 codes

  /// See `height`.
  static constexpr size_t Height(size_t rows) { return rows == 1 ? 1 : rows <= 8 ? 8 : kLanes; }
  /// Bytes of memory for so many rows, with codes, scales and sums.
  static constexpr size_t Bytes(size_t rows, size_t padded_k, size_t scaled_terms) {
    const size_t words = padded_k / 4 + Scales(padded_k, scaled_terms) + padded_k / kActivationGroup;
    return RoundUp(RoundUp(rows, Height(rows)) * words * 4, kAlignment);
  }

  /// `memory` holds Bytes of the same arguments.
  static QuantizedRows In(std::byte* memory, size_t rows, size_t padded_k, size_t scaled_terms);

  /// The number of a row's scales.
  size_t RowScales() const { return Scales(padded_k, scaled_terms); }

  /// The address of term k of a row; k is a multiple of the array's granularity.
  int8_t* CodesAt(size_t row, size_t k) const {
    return codes + First(row) * padded_k + (k / kActivationGroup * height + InGroup(row)) * kActivationGroup +
           k % kActivationGroup;
  }
  /// The scale of the terms that k begins.
  float* ScaleAt(size_t row, size_t k) const {
    return scales + First(row) * RowScales() + WholeScales(k, scaled_terms) * height + InGroup(row);
  }
  /// The sum of the kActivationSum codes that k begins.
  int16_t* SumAt(size_t row, size_t k) const {
    return sums + First(row) * (padded_k / kActivationSum) + (k / kActivationGroup * height + InGroup(row)) * 2 +
           k % kActivationGroup / kActivationSum;
  }

 private:
  // Heights are powers of two, and of the numbers of terms there are two: a kernel asks for each block of a single row,
  // and dividing by numbers that only the program knows when it runs would cost it a tenth of its time.
  size_t InGroup(size_t row) const { return row & (height - 1); }
  size_t First(size_t row) const { return row - InGroup(row); }
  static constexpr size_t WholeScales(size_t terms, size_t scaled_terms) {
    return scaled_terms == kActivationGroup ? terms / kActivationGroup : terms / kActivationBlock;
  }
  static constexpr size_t Scales(size_t terms, size_t scaled_terms) {
    return WholeScales(terms + scaled_terms - 1, scaled_terms);
  }
};

namespace internal {

template <class T>
struct PreparedOf {
  using Type = T*;
};
template <class T>
requires kIsGrouped<std::remove_const_t<T>>
struct PreparedOf<T> {
  using Type = QuantizedRows;
};
template <FloatCoded T>
struct PreparedOf<T> {
  using Type = float*;
};
template <FloatCoded T>
struct PreparedOf<const T> {
  using Type = const float*;
};

}  // namespace internal

/// The left operand of a product with a matrix of T: T in the order of PreparedIndex, or quantised rows, or for codes
/// of floats floats in that order. T may be const if they are only read.
template <class T>
using Prepared = typename internal::PreparedOf<T>::Type;

/// Bytes of an element of rows that are prepared for matrices of such a type, which is not group-quantised.
constexpr size_t PreparedElement(DType type) { return SizeOf(IsFloatCoded(type) ? DType::kF32 : type); }

template <class T>
constexpr size_t PreparedBytes(size_t rows, size_t padded_k) {
  if constexpr (kIsGrouped<T>)
    return QuantizedRows::Bytes(rows, padded_k, kScaledTerms<T>);
  else
    return PreparedSize(rows, padded_k) * PreparedElement(kDTypeOf<T>);
}
inline size_t PreparedBytes(DType type, size_t rows, size_t padded_k) {
  return VisitWeightType(type, [=]<class T>() { return PreparedBytes<T>(rows, padded_k); });
}

template <class T>
Prepared<T> PreparedIn(std::byte* memory, size_t rows, size_t padded_k) {
  if constexpr (kIsGrouped<T>)
    return QuantizedRows::In(memory, rows, padded_k, kScaledTerms<std::remove_const_t<T>>);
  else
    return reinterpret_cast<Prepared<T>>(memory);
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/group_layout.h"
#endif

#endif  // SKALD_BASE_NUMBERS_GROUP_LAYOUT_H_
