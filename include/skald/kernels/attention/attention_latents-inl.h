// SPDX-License-Identifier: Apache-2.0
//
// Values that are elements of keys, as in latent attention: cached once, in the order of keys. Attention reorders them
// into the order of values, a few panels at a time, while it multiplies them.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Panels of values that are made from keys at a time: as many as stay in the first-level cache.
inline constexpr size_t kLatentPanels = 4;

// The unit of reordering: an element of one position or, for bfloat16, two elements of two positions, which are
// neighbours in both orders.
template <class T>
using MovedUnit = hwy::UnsignedFromSize<sizeof(T) == 2 ? 8 : sizeof(T)>;

// Vectors that are too short for rows of a square, or that cannot be in arrays.
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE || HWY_TARGET_IS_SVE

template <class U>
inline constexpr size_t kSquareSide = 1;

// Transposes a square of units, rows of `stride` units. Rows from `rows` on count as zeros.
template <class U>
HWY_INLINE void TurnSquare(const U* from, size_t rows, size_t, U* to) {
  const U unit = rows > 0 ? *from : U{0};
  *to = unit;
  if constexpr (sizeof(U) == 8) {
    *to = (unit & 0xFFFF00000000FFFFu) | (unit >> 16 & 0xFFFF0000u) | (unit & 0xFFFF0000u) << 16;
  }
}

#else

template <class U>
inline constexpr size_t kSquareSide = 16 / sizeof(U);

// Transposes a square of units, rows of `stride` units. Rows from `rows` on count as zeros.
template <class U>
HWY_INLINE void TurnSquare(const U* from, size_t rows, size_t stride, U* to) {
  constexpr size_t kSide = kSquareSide<U>;
  const hn::FixedTag<U, kSide> tag;
  hn::Vec<decltype(tag)> square[kSide], shuffled[kSide];
  for (size_t row = 0; row < kSide; ++row) {
    square[row] = row < rows ? hn::Load(tag, from + row * stride) : hn::Zero(tag);
    if constexpr (sizeof(U) == 8) {  // turns the two elements of each position into the two positions of each element
      alignas(16) static constexpr uint8_t kOrder[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
      const hn::Repartition<uint8_t, decltype(tag)> bytes;
      square[row] = hn::BitCast(tag, hn::TableLookupBytes(hn::BitCast(bytes, square[row]), hn::Load(bytes, kOrder)));
    }
  }
  for (size_t length = 1; length < kSide; length *= 2) {
    for (size_t i = 0; i < kSide / 2; ++i) {
      shuffled[2 * i] = hn::InterleaveLower(tag, square[i], square[i + kSide / 2]);
      shuffled[2 * i + 1] = hn::InterleaveUpper(tag, square[i], square[i + kSide / 2]);
    }
    for (size_t i = 0; i < kSide; ++i) square[i] = shuffled[i];
  }
  for (size_t row = 0; row < kSide; ++row) hn::Store(square[row], tag, to + row * stride);
}

#endif

// Writes elements [begin, begin + kLanes) of the keys of kLanes positions in the order of values; those from head_dim
// on become zero. `keys` is the panel of these positions, `values` the destination in the panel of these elements;
// `begin` is even.
template <class T>
HWY_INLINE void TurnPanel(const T* keys, size_t begin, size_t head_dim, T* values) {
  using U = MovedUnit<T>;
  constexpr size_t kUnits = kLanes * kPair<T> * sizeof(T) / sizeof(U), kSide = kSquareSide<U>;
  const size_t rows = RoundUp(HWY_MIN(kLanes, head_dim - begin), kPair<T>) / kPair<T>;
  const U* const from = reinterpret_cast<const U*>(keys + begin * kLanes);
  U* const to = reinterpret_cast<U*>(values);
  for (size_t row = 0; row < kUnits; row += kSide) {
    for (size_t col = 0; col < kUnits; col += kSide) {
      TurnSquare(from + row * kUnits + col, HWY_MAX(rows, row) - row, kUnits, to + col * kUnits + row);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
