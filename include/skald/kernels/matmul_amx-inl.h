// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of bfloat16 activations by a packed matrix on AMX tiles, for two or more rows.

#if defined(SKALD_KERNELS_MATMUL_AMX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_AMX_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_AMX_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_AMX_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/amx-inl.h"
#include "skald/kernels/amx_support.h"
#include "skald/kernels/args.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/outputs-inl.h"

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Sums of up to 32 rows by two panels: one pass over all of K. With kLower the rows have a lower half, with kRight
// there is a second panel.
template <bool kLower, bool kRight>
SKALD_AMX void SumTiles(const bf16* input, size_t padded_k, const bf16* weights, float* sums) {
  const size_t stride = padded_k * sizeof(bf16), panel = kLanes * padded_k;
  const bf16* const lower = input + kTileHeight * padded_k;
  FinishStores();
  _tile_zero(0);
  if constexpr (kRight) _tile_zero(1);
  if constexpr (kLower) _tile_zero(2);
  if constexpr (kLower && kRight) _tile_zero(3);
  for (size_t k = 0; k < padded_k; k += kTile) {
    _tile_loadd(6, weights + k * kLanes, kTileRowBytes);
    _tile_loadd(4, input + k, stride);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRight) {
      _tile_loadd(7, weights + panel + k * kLanes, kTileRowBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kLower) {
      _tile_loadd(5, lower + k, stride);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kRight) _tile_dpbf16ps(3, 5, 7);
    }
  }
  // [32, 2 panels]
  constexpr size_t kSumsStride = 2 * kLanes * sizeof(float);
  _tile_stored(0, sums, kSumsStride);
  if constexpr (kRight) _tile_stored(1, sums + kLanes, kSumsStride);
  if constexpr (kLower) _tile_stored(2, sums + kTileHeight * 2 * kLanes, kSumsStride);
  if constexpr (kLower && kRight) _tile_stored(3, sums + kTileHeight * 2 * kLanes + kLanes, kSumsStride);
}

SKALD_AMX void SumTiles(bool lower, bool right, const bf16* input, size_t padded_k, const bf16* weights, float* sums) {
  if (lower) {
    right ? SumTiles<true, true>(input, padded_k, weights, sums)
          : SumTiles<true, false>(input, padded_k, weights, sums);
  } else {
    right ? SumTiles<false, true>(input, padded_k, weights, sums)
          : SumTiles<false, false>(input, padded_k, weights, sums);
  }
}

// Outer loop: two panels, which stay in L2 while all rows pass over them.
inline void MatMulAmx(const MatMulArgs<bf16>& args) {
  constexpr size_t kRows = 2 * kTileHeight;
  alignas(kAlignment) float sums[kRows * 2 * kLanes];
  // All whole tiles first, then the rows that are left, with tiles of their own shape.
  for (size_t begin = 0, end; begin < args.rows; begin = end) {
    end = args.rows - begin < kRows ? args.rows : args.rows / kRows * kRows;
    SetTileShapes(HWY_MIN(kRows, end - begin));
    for (size_t panel = args.panel_begin; panel < args.panel_end; panel += 2) {
      const bool right = panel + 1 < args.panel_end;
      for (size_t row = begin; row < end; row += kRows) {
        const size_t rows = HWY_MIN(kRows, end - row);
        SumTiles(rows > kTileHeight, right, args.input + row * args.padded_k, args.padded_k,
                 args.weights + panel * kLanes * args.padded_k, sums);
        for (size_t r = 0; r < rows; ++r) {
          StoreOutputs(args, row + r, panel, LoadLanes(sums + r * 2 * kLanes));
          if (right) StoreOutputs(args, row + r, panel + 1, LoadLanes(sums + r * 2 * kLanes + kLanes));
        }
      }
    }
  }
  ReleaseTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_MATMUL_AMX_INL_TOGGLE
