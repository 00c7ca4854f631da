// SPDX-License-Identifier: Apache-2.0
//
// The inner product of all multiplications: one tile of kTile terms for several rows and several panels of a packed
// matrix, summed by R1. Matmul, attention scores and attention outputs all add up through AddPartOfTile.

#if defined(SKALD_KERNELS_SIMD_TILE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_TILE_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_TILE_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_TILE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/int8-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// How many rows and panels are accumulated in registers at a time, for many rows, for few and for one. A bfloat16 tile
// needs three registers (even, odd, total) per row and part of a panel, and the fused multiply-adds need about eight
// independent chains to hide their latency. AVX-512 and NEON have 32 registers, the others 16.
inline constexpr size_t kTileRows = kKnownParts == 1 ? 8 : 2;
inline constexpr size_t kFewRows = kKnownParts == 1 ? 4 : 2, kFewPanels = kKnownParts == 1 ? 2 : 1;
inline constexpr size_t kRowPanels = kKnownParts == 1 ? 4 : kKnownParts == 2 ? 2 : 1;

template <size_t kRows, size_t kPanels>
HWY_INLINE void ClearSums(Lanes (&sums)[kRows][kPanels]) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) sums[r][p] = ZeroLanes();
  }
}

// Reads sums from memory, [kRows][kPanels][kLanes].
template <size_t kRows, size_t kPanels>
HWY_INLINE void LoadTile(const float* from, Lanes (&sums)[kRows][kPanels]) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) sums[r][p] = LoadLanes(from + (r * kPanels + p) * kLanes);
  }
}

// Writes sums to memory, [kRows][kPanels][kLanes].
template <size_t kRows, size_t kPanels>
HWY_INLINE void StoreTile(const Lanes (&sums)[kRows][kPanels], float* to) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreLanes(sums[r][p], to + (r * kPanels + p) * kLanes);
  }
}

// sums[r][p] += x[r * kTile] * terms[p]: one k.
template <size_t kRows, size_t kPanels>
HWY_INLINE void AddTerm(const float* x, const Lanes (&terms)[kPanels], Lanes (&sums)[kRows][kPanels]) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    const FloatVec factor = hn::Set(FloatTag(), x[r * kTile]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) sums[r][p] = MulAdd(factor, terms[p], sums[r][p]);
  }
}

template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddEven(const float* x, const T* row, size_t panel_stride, Lanes (&sums)[kRows][kPanels]) {
  Lanes terms[kPanels];
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) terms[p] = LoadEven(row + p * panel_stride);
  AddTerm(x, terms, sums);
}

template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddOdd(const float* x, const T* row, size_t panel_stride, Lanes (&sums)[kRows][kPanels]) {
  Lanes terms[kPanels];
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) terms[p] = LoadOdd(row + p * panel_stride);
  AddTerm(x, terms, sums);
}

// Whether memory is read in one stream if possible; AMD's prefetchers follow that best.
inline constexpr bool kOneStream = HWY_TARGET == HWY_AVX3_ZEN4;

// The distance of prefetches, in bytes of all panels together. With few rows, memory is the limit, and widening takes
// so many instructions that the processor sees too few loads ahead to use all of its bandwidth. With many rows the next
// chunk is brought closer.
inline constexpr size_t kBytesAhead = kOneStream ? 8192 : 4096;

// Whether to prefetch: the single stream of a single row is better left to the processor.
template <size_t kRows>
inline constexpr bool kAsksAhead = kRows > 1 || !kOneStream;

// Returns the distance in bytes from position `at` of the first of kPanels panels to the address to prefetch: further
// on in the same panels, or in the following ones. A panel has panel_bytes; it is read kStep bytes at a time.
template <size_t kPanels, size_t kStep>
HWY_INLINE size_t BytesAhead(size_t at, size_t panel_bytes) {
  constexpr size_t kAhead = RoundUp(kBytesAhead / kPanels, kStep);
  return at + kAhead < panel_bytes ? kAhead : kAhead + (kPanels - 1) * panel_bytes;
}

// Prefetches a row of each panel.
template <size_t kPanels, class T>
HWY_INLINE void PrefetchRows(const T* row, size_t panel_stride) {
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) hwy::Prefetch(row + p * panel_stride);
}

// Adds the terms k in [begin, end) of one tile, 0 <= begin <= end <= kTile, to `totals`. `x` is [kRows, kTile], floats
// that T can represent (bfloat16 numbers if T are codes); `weights` is the tile in the first panel (panels panel_stride
// apart). Terms outside [begin, end) have no influence, even if NaN. If `ahead` is not null, prefetches the tile there,
// piece by piece.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddPartOfTile(const float* x, const T* weights, size_t panel_stride, size_t begin, size_t end,
                              const T* ahead, Lanes (&totals)[kRows][kPanels]) {
  // In registers: even, odd and totals. Each 64-byte row of weights is loaded once for all rows of x.
  Lanes even[kRows][kPanels], odd[kRows][kPanels];
  ClearSums(even);
  ClearSums(odd);
  size_t k = begin;
  if (k % 2 == 1 && k < end) {
    AddOdd(x + k, weights + (k - 1) * kLanes, panel_stride, odd);
    ++k;
  }
  for (; k + 2 <= end; k += 2) {
    if (ahead != nullptr) PrefetchRows<kPanels>(ahead + k * kLanes, panel_stride);
    AddEven(x + k, weights + k * kLanes, panel_stride, even);
    AddOdd(x + k + 1, weights + k * kLanes, panel_stride, odd);
  }
  if (k < end) AddEven(x + k, weights + k * kLanes, panel_stride, even);
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) totals[r][p] = Add(totals[r][p], Add(even[r][p], odd[r][p]));
  }
}

template <size_t kRows, size_t kPanels>
HWY_INLINE void AddPartOfTile(const float* x, const float* weights, size_t panel_stride, size_t begin, size_t end,
                              const float* ahead, Lanes (&totals)[kRows][kPanels]) {
  for (size_t k = begin; k < end; ++k) {
    if (ahead != nullptr) PrefetchRows<kPanels>(ahead + k * kLanes, panel_stride);
    Lanes terms[kPanels];
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) terms[p] = LoadLanes(weights + p * panel_stride + k * kLanes);
    AddTerm(x + k, terms, totals);
  }
}

// The same for all terms of the tile.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddTile(const float* x, const T* weights, size_t panel_stride, const T* ahead,
                        Lanes (&totals)[kRows][kPanels]) {
  AddPartOfTile(x, weights, panel_stride, 0, kTile, ahead, totals);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SIMD_TILE_INL_TOGGLE
