// SPDX-License-Identifier: Apache-2.0
//
// The multiplications of attention: up to 32 query rows, laid out as tiles, by cached keys or values, in the order of
// R1. For fused multiply-adds the rows are floats that the cache's type can represent; for native bfloat16 products
// (AMX, VDPBF16PS) they are bfloat16. The tiles are contiguous because AMX loads of rows a power of two apart would
// evict each other from L1.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_PRODUCT_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_PRODUCT_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_PRODUCT_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_PRODUCT_INL_TOGGLE
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/simd/amx-inl.h"
#include "skald/kernels/simd/bf16_dot-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Rows of one tile, and elements of a tile of operands (16 rows of kTile terms) and of sums (16 rows of one panel, then
// a gap: reading a row's panels while others are written would wait for the writes if they were 4 KB apart).
inline constexpr size_t kTileOfRows = 16;
inline constexpr size_t kOperandTile = kTileOfRows * kTile;
inline constexpr size_t kSumTile = kTileOfRows * kLanes + 2 * kLanes;

// [rows, terms] as [rows / 16][terms / kTile][16][kTile]; `terms` is a multiple of kTile.
template <class E>
struct Operand {
  E* tiles;
  size_t terms;

  HWY_INLINE E* Row(size_t row) const {
    return tiles + row / kTileOfRows * kTileOfRows * terms + row % kTileOfRows * kTile;
  }
};

#if HWY_TARGET == HWY_AVX3_ZEN4 || HWY_TARGET == HWY_AVX3_SPR
// Writes a row of a tile of operands in the order in which it is multiplied: for VDPBF16PS as pairs of one chain.
HWY_INLINE void StoreOperandRow(BitsVec row, bf16* to) {
#if HWY_TARGET == HWY_AVX3_ZEN4
  row = ChainPairs(row);
#endif
  hn::Store(row, BitsTag(), reinterpret_cast<uint32_t*>(to));
}
HWY_INLINE void OrderOperandRow(bf16* row) {
  StoreOperandRow(hn::Load(BitsTag(), reinterpret_cast<const uint32_t*>(row)), row);
}
#endif
HWY_INLINE void OrderOperandRow(float*) {}

// [rows, panels * kLanes] as [rows / 16][panels][16][kLanes].
struct Sums {
  float* tiles;
  size_t panels;

  HWY_INLINE float* Row(size_t row) const {
    return tiles + row / kTileOfRows * panels * kSumTile + row % kTileOfRows * kLanes;
  }
};

// Part of a packed matrix: tiles[k] is tile k of the first panel. Only tiles that hold terms [begin, end) are read.
template <class T>
struct PackedTiles {
  static constexpr size_t kMaxTiles = kMaxHeadDim / kTile;
  const T* tiles[kMaxTiles];
  const T* ahead[kMaxTiles];  // the address to prefetch while tiles[k] is multiplied: such a tile, or null
  size_t panel_stride;
  size_t begin, end;
};

// Computes kRows rows by kPanels panels. `x` and `sums` are the first row's. With `asks` it prefetches `ahead`.
template <size_t kRows, size_t kPanels, class E, class T>
HWY_INLINE void AddProduct(bool from_zero, bool asks, const E* x, const PackedTiles<T>& weights, size_t panel,
                           float* sums) {
  Lanes totals[kRows][kPanels];
  ClearSums(totals);
  if (!from_zero) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) totals[r][p] = LoadLanes(sums + p * kSumTile + r * kLanes);
    }
  }
  for (size_t k = weights.begin / kTile; k * kTile < weights.end; ++k) {
    const T* const tile = weights.tiles[k] + panel * weights.panel_stride;
    const T* ahead = asks ? weights.ahead[k] : nullptr;
    if (ahead != nullptr) ahead += panel * weights.panel_stride;
    if constexpr (std::is_same_v<E, bf16>) {
      AddPairsOfTile(reinterpret_cast<const uint32_t*>(x + k * kOperandTile), tile, weights.panel_stride, ahead,
                     totals);
    } else {
      const size_t begin = HWY_MAX(weights.begin, k * kTile) - k * kTile;
      const size_t end = HWY_MIN(weights.end, (k + 1) * kTile) - k * kTile;
      AddPartOfTile(x + k * kOperandTile, tile, weights.panel_stride, begin, end, ahead, totals);
    }
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreLanes(totals[r][p], sums + p * kSumTile + r * kLanes);
  }
}

// The number of rows that AddProducts computes for `rows` rows; the additional ones, which only fill registers, must
// exist.
template <class E>
HWY_INLINE size_t ComputedRows(const E*, size_t rows) {
  return rows == 1 ? 1 : RoundUp(rows, kFewRows);
}

template <size_t kRows, size_t kPanels, class E, class T>
HWY_INLINE void AddPanels(bool from_zero, const Operand<E>& x, size_t rows, const PackedTiles<T>& weights,
                          size_t panels, const Sums& sums) {
  size_t panel = 0;
  for (; panel + kPanels <= panels; panel += kPanels) {
    for (size_t row = 0; row < rows; row += kRows) {
      AddProduct<kRows, kPanels>(from_zero, row == 0, x.Row(row), weights, panel, sums.Row(row) + panel * kSumTile);
    }
  }
  if constexpr (kPanels > 1) {
    for (; panel < panels; ++panel) {
      for (size_t row = 0; row < rows; row += kRows) {
        AddProduct<kRows, 1>(from_zero, row == 0, x.Row(row), weights, panel, sums.Row(row) + panel * kSumTile);
      }
    }
  }
}

// sums[row, panel] += x[row, :] . weights[panel, :] for the first `panels` panels of sums; with from_zero the sums
// begin at zero. `rows` is from ComputedRows. Terms outside [weights.begin, weights.end) have no influence on products
// of floats. bfloat16 is multiplied in whole tiles: outside of the range x must be zero and the weights finite.
template <class E, class T>
void AddProducts(bool from_zero, const Operand<E>& x, size_t rows, const PackedTiles<T>& weights, size_t panels,
                 const Sums& sums) {
  if (rows == 1) {
    AddPanels<1, kRowPanels>(from_zero, x, rows, weights, panels, sums);
  } else {
    AddPanels<kFewRows, kFewPanels>(from_zero, x, rows, weights, panels, sums);
  }
}

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

static_assert(kTileOfRows == kTileHeight);

HWY_INLINE size_t ComputedRows(const bf16*, size_t rows) { return rows; }

// Computes one or two panels of up to 32 rows. With kLower the rows have a lower half, with kRight there is a second
// panel. Tiles are used at full height: the sums of rows below the last one are never read.
template <bool kLower, bool kRight>
SKALD_AMX void AddTiles(bool from_zero, const Operand<bf16>& x, const PackedTiles<bf16>& weights, size_t panel,
                        const Sums& sums) {
  const bf16* const lower = x.tiles + kTileOfRows * x.terms;
  float* const upper_sums = sums.tiles + panel * kSumTile;
  float* const lower_sums = upper_sums + sums.panels * kSumTile;
  FinishStores();
  if (from_zero) {
    _tile_zero(0);
    if constexpr (kRight) _tile_zero(1);
    if constexpr (kLower) _tile_zero(2);
    if constexpr (kLower && kRight) _tile_zero(3);
  } else {
    _tile_loadd(0, upper_sums, kTileRowBytes);
    if constexpr (kRight) _tile_loadd(1, upper_sums + kSumTile, kTileRowBytes);
    if constexpr (kLower) _tile_loadd(2, lower_sums, kTileRowBytes);
    if constexpr (kLower && kRight) _tile_loadd(3, lower_sums + kSumTile, kTileRowBytes);
  }
  for (size_t k = weights.begin / kTile; k * kTile < weights.end; ++k) {
    const bf16* const tile = weights.tiles[k] + panel * weights.panel_stride;
    _tile_loadd(6, tile, kTileRowBytes);
    _tile_loadd(4, x.tiles + k * kOperandTile, kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRight) {
      _tile_loadd(7, tile + weights.panel_stride, kTileRowBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kLower) {
      _tile_loadd(5, lower + k * kOperandTile, kTileRowBytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kRight) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, upper_sums, kTileRowBytes);
  if constexpr (kRight) _tile_stored(1, upper_sums + kSumTile, kTileRowBytes);
  if constexpr (kLower) _tile_stored(2, lower_sums, kTileRowBytes);
  if constexpr (kLower && kRight) _tile_stored(3, lower_sums + kSumTile, kTileRowBytes);
}

template <bool kLower>
SKALD_AMX void AddTiles(bool from_zero, const Operand<bf16>& x, const PackedTiles<bf16>& weights, size_t panels,
                        const Sums& sums) {
  size_t panel = 0;
  for (; panel + 2 <= panels; panel += 2) AddTiles<kLower, true>(from_zero, x, weights, panel, sums);
  if (panel < panels) AddTiles<kLower, false>(from_zero, x, weights, panel, sums);
}

// The same on AMX, after SetTileShapes.
inline void AddProducts(bool from_zero, const Operand<bf16>& x, size_t rows, const PackedTiles<bf16>& weights,
                        size_t panels, const Sums& sums) {
  rows > kTileOfRows ? AddTiles<true>(from_zero, x, weights, panels, sums)
                     : AddTiles<false>(from_zero, x, weights, panels, sums);
}

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_PRODUCT_INL_TOGGLE
