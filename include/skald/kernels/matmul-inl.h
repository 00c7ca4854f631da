// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by a packed matrix, for float and bfloat16 (arithmetic contract, R1).

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

// Computes kRows rows by kPanels panels.
template <size_t kRows, size_t kPanels, class T>
void MatMulTile(const MatMulArgs<T>& args, size_t row, size_t panel) {
  const size_t panel_stride = kLanes * args.padded_k;
  const size_t height = RowBlockHeight(args.rows, row);
  const T* input = args.input + PreparedIndex(args.rows, row, 0, args.padded_k);
  const T* weights = args.weights + panel * panel_stride;
  Lanes sums[kRows][kPanels];
  ClearSums(sums);
  // The sums stay in registers over all of K. The rows' factors of one tile are expanded to floats on the stack
  // (L1), from where the multiplication broadcasts them without an extra instruction.
  for (size_t k = 0; k < args.padded_k; k += kTile) {
    if constexpr (std::is_same_v<T, float>) {
      AddTile(input + k * height, kTile, weights + k * kLanes, panel_stride, 0, kTile, sums);
    } else {
      alignas(kAlignment) float factors[kRows][kTile];
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t i = 0; i < kTile; i += hn::Lanes(FloatTag())) {
          hn::Store(LoadFloats(input + k * height + r * kTile + i), FloatTag(), factors[r] + i);
        }
      }
      AddTile(factors[0], kTile, weights + k * kLanes, panel_stride, 0, kTile, sums);
    }
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreOutputs(args, row + r, panel + p, sums[r][p]);
  }
}

template <size_t kPanels, class T>
HWY_INLINE void MatMulPanels(const MatMulArgs<T>& args, size_t panel) {
  static_assert(kRowBlock % kTileRows == 0);  // so no tile of rows lies in two blocks
  size_t row = args.row_begin;
  if constexpr (kPanels <= kTilePanels) {
    for (; row + kTileRows <= args.row_end; row += kTileRows) MatMulTile<kTileRows, kPanels>(args, row, panel);
  }
  for (; row < args.row_end; ++row) MatMulTile<1, kPanels>(args, row, panel);
}

// Outer loop: a few panels (K = 2048: 64 KiB each in bfloat16), which stay in L2 while all rows pass over them.
// So memory is read once and in order, however many rows there are.
template <class T>
void MatMul(const MatMulArgs<T>& args) {
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if constexpr (std::is_same_v<T, bf16>) {
    if (args.rows > 1 && HaveAmx()) return MatMulAmx(args);
  }
#endif
  size_t panel = args.panel_begin;
  if (args.row_end - args.row_begin < kTileRows) {
    for (; panel + kRowPanels <= args.panel_end; panel += kRowPanels) MatMulPanels<kRowPanels>(args, panel);
  } else {
    for (; panel + kTilePanels <= args.panel_end; panel += kTilePanels) MatMulPanels<kTilePanels>(args, panel);
  }
  for (; panel < args.panel_end; ++panel) MatMulPanels<1>(args, panel);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_INL_TOGGLE
