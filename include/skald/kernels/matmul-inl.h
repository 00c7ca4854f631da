// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by a packed matrix, for float and bfloat16 (arithmetic contract, R1), and the same with
// a gate between the two halves of the outputs.

#if defined(SKALD_KERNELS_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/numeric.h"
#include "skald/kernels/activation-inl.h"
#include "skald/kernels/amx_support.h"
#include "skald/kernels/args.h"
#include "skald/kernels/bf16-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/matmul_amx-inl.h"
#include "skald/kernels/outputs-inl.h"
#include "skald/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Sums of kRows rows by kPanels neighbouring panels, and with kGated by as many panels of the second half.
template <bool kGated, size_t kRows, size_t kPanels>
struct TileSums {
  static constexpr size_t kParts = kGated ? 2 : 1;
  // Spelled out because g++ compiles an implicit constructor without the attributes of this target.
  HWY_INLINE TileSums() {}
  Lanes sums[kParts][kRows][kPanels];
};

template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void StoreTile(const MatMulArgs<T>& args, size_t row, size_t panel,
                          const TileSums<false, kRows, kPanels>& tile) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreOutputs(args, row + r, panel + p, tile.sums[0][r][p]);
  }
}

template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void StoreTile(const MatMulArgs<T>& args, size_t row, size_t panel,
                          const TileSums<true, kRows, kPanels>& tile) {
  VisitGate(args.gate, [&](auto activation) {
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t p = 0; p < kPanels; ++p) {
        const Lanes outputs = GatedOutputs(activation, args, panel + p, tile.sums[0][r][p], tile.sums[1][r][p]);
        StoreGatedOutputs(args, row + r, panel + p, outputs, false);
      }
    }
  });
}

// Adds one tile of K to `tile`: `input` is [kRows, kTile], `weights` the tile in the first panel. bfloat16 factors are
// expanded to floats on the stack (L1), from where the multiplication broadcasts them without an extra instruction.
template <bool kGated, size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddTileOfK(const T* input, const T* weights, size_t panel_stride, size_t half_stride,
                           TileSums<kGated, kRows, kPanels>& tile) {
  alignas(kAlignment) float expanded[kRows * kTile];
  const float* factors = expanded;
  if constexpr (std::is_same_v<T, float>) {
    factors = input;
  } else {
    for (size_t i = 0; i < kRows * kTile; i += hn::Lanes(FloatTag())) {
      hn::Store(LoadFloats(input + i), FloatTag(), expanded + i);
    }
  }
  AddTile(factors, kTile, weights, panel_stride, 0, kTile, tile.sums[0]);
  if constexpr (kGated) AddTile(factors, kTile, weights + half_stride, panel_stride, 0, kTile, tile.sums[1]);
}

// Computes kRows rows by kPanels panels, and their counterparts with kGated. The sums stay in registers over all of K.
template <bool kGated, size_t kRows, size_t kPanels, class T>
void MatMulTile(const MatMulArgs<T>& args, size_t row, size_t panel) {
  const size_t panel_stride = kLanes * args.padded_k, half_stride = args.n / 2 * args.padded_k;
  const size_t height = RowBlockHeight(args.rows, row);
  const T* input = args.input + PreparedIndex(args.rows, row, 0, args.padded_k);
  const T* weights = args.weights + panel * panel_stride;
  TileSums<kGated, kRows, kPanels> tile;
  for (auto& sums : tile.sums) ClearSums(sums);
  for (size_t k = 0; k < args.padded_k; k += kTile) {
    AddTileOfK(input + k * height, weights + k * kLanes, panel_stride, half_stride, tile);
  }
  StoreTile(args, row, panel, tile);
}

// All rows by the panels from `panel` on, of which as many as there are whole kPanels: kRows rows at a time, then
// singly. Returns the first panel not done.
template <bool kGated, size_t kRows, size_t kPanels, class T>
HWY_INLINE size_t MatMulPanels(const MatMulArgs<T>& args, size_t panel) {
  static_assert(kRowBlock % kRows == 0);  // so no tile of rows lies in two blocks
  for (; panel + kPanels <= args.panel_end; panel += kPanels) {
    size_t row = args.row_begin;
    if constexpr (kRows > 1) {
      for (; row + kRows <= args.row_end; row += kRows) MatMulTile<kGated, kRows, kPanels>(args, row, panel);
    }
    for (; row < args.row_end; ++row) MatMulTile<kGated, 1, kPanels>(args, row, panel);
  }
  return panel;
}

// Outer loop: a few panels (K = 2048: 64 KiB each in bfloat16), which stay in L2 while all rows pass over them.
// So memory is read once and in order, however many rows there are.
template <bool kGated, class T>
void MatMulOnVectors(const MatMulArgs<T>& args) {
  // Registers for as many sums either way; a gate and its counterpart count twice.
  constexpr size_t kAtOnce = kGated ? 2 : 1;
  constexpr size_t kFewPanels = HWY_MAX(size_t{1}, kRowPanels / kAtOnce);
  constexpr size_t kPanels = HWY_MAX(size_t{1}, kTilePanels / kAtOnce);
  constexpr size_t kRows = kTilePanels < kAtOnce ? 1 : kTileRows;
  const bool few_rows = args.row_end - args.row_begin < kTileRows;
  const size_t panel = few_rows ? MatMulPanels<kGated, 1, kFewPanels>(args, args.panel_begin)
                                : MatMulPanels<kGated, kRows, kPanels>(args, args.panel_begin);
  MatMulPanels<kGated, kRows, 1>(args, panel);
}

template <bool kGated, class T>
HWY_INLINE void MatMulAny(const MatMulArgs<T>& args) {
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if constexpr (std::is_same_v<T, bf16>) {
    if (args.rows > 1 && HaveAmx()) return MatMulAmx<kGated>(args);
  }
#endif
  MatMulOnVectors<kGated>(args);
}

template <class T>
void MatMul(const MatMulArgs<T>& args) {
  MatMulAny<false>(args);
}

template <class T>
void MatMulGated(const MatMulArgs<T>& args) {
  MatMulAny<true>(args);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_INL_TOGGLE
