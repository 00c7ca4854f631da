// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by a packed matrix of any type: the loops over rows and panels, and for float and
// bfloat16 the sums over K (arithmetic contract, R1).

#if defined(SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/group_matmul-inl.h"
#include "skald/kernels/matmul/group_matmul_amx-inl.h"
#include "skald/kernels/matmul/matmul_amx-inl.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/matmul/prepare-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/bf16_dot-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Adds one tile of K to `totals`: `input` is [kRows, kTile], `weights` the tile in the first panel. bfloat16 factors
// that cannot be multiplied as they are become floats on the stack (L1), from where the multiplication broadcasts them
// without an extra instruction.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddTileOfK(const T* input, const T* weights, size_t panel_stride, const T* ahead,
                           Lanes (&totals)[kRows][kPanels]) {
#if HWY_TARGET == HWY_AVX3_ZEN4
  AddTile(input, kTile, weights, panel_stride, 0, kTile, ahead, totals);
#else
  alignas(kAlignment) float expanded[kRows * kTile];
  const float* factors = expanded;
  if constexpr (std::is_same_v<T, float>) {
    factors = input;
  } else {
    for (size_t i = 0; i < kRows * kTile; i += hn::Lanes(FloatTag())) {
      hn::Store(LoadFloats(input + i), FloatTag(), expanded + i);
    }
  }
  AddTile(factors, kTile, weights, panel_stride, 0, kTile, ahead, totals);
#endif
}

// Returns the terms between term k of the first of kPanels panels and what memory is asked for meanwhile: some way on
// in the same panels, or in those that follow them.
template <size_t kPanels, class T>
HWY_INLINE size_t TermsAhead(size_t k, size_t padded_k) {
  constexpr size_t kAhead = RoundUp(kBytesAhead / (kPanels * kLanes * sizeof(T)), kTile);
  return k + kAhead < padded_k ? kAhead : kAhead + (kPanels - 1) * padded_k;
}

// Adds the terms [k, k_end) of kRows rows and kPanels panels to `sums`, [kRows][kPanels][kLanes], which begin at k = 0.
template <size_t kRows, size_t kPanels, class T>
requires(!kIsGrouped<T>) HWY_NOINLINE
    void SumTile(const MatMulArgs<T>& args, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
  const size_t panel_stride = kLanes * args.padded_k, height = RowBlockHeight(args.rows, row);
  const T* const input = args.input + PreparedIndex(args.rows, row, 0, args.padded_k);
  const T* const weights = args.weights + panel * panel_stride;
  Lanes totals[kRows][kPanels];
  k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
  for (; k < k_end; k += kTile) {
    const T* const tile = weights + k * kLanes;
    const T* const ahead = tile + TermsAhead<kPanels, T>(k, args.padded_k) * kLanes;
    AddTileOfK(input + k * height, tile, panel_stride, kRows > 1 || !kOneStream ? ahead : nullptr, totals);
  }
  StoreTile(totals, sums);
}

// How many panels are read side by side for one row and for few.
inline constexpr size_t kRowStreams = kOneStream ? 1 : kRowPanels, kFewStreams = kOneStream ? 1 : kFewPanels;

// How the work is cut: so many terms of a panel stay in the first-level cache while a group of rows passes over them. A
// single row passes over all of K at once.
inline constexpr size_t kVectorRows = 128, kVectorTerms = 256;
static_assert(kVectorTerms % kActivationBlock == 0);

// Sums rows [row, row_end) by kPanels panels; what a kernel finds below the last row becomes sums that nobody reads.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void SumRows(const MatMulArgs<T>& args, size_t row, size_t row_end, size_t panel, float* sums) {
  const size_t terms = kRows == 1 ? args.padded_k : kVectorTerms;
  for (size_t k = 0; k < args.padded_k; k += terms) {
    for (size_t r = row; r < row_end; r += kRows) {
      SumTile<kRows, kPanels>(args, r, panel, k, HWY_MIN(k + terms, args.padded_k),
                              sums + (r - row) * kPanels * kLanes);
    }
  }
}

// Computes the outputs of at most kVectorRows rows, or of a single tile of fewer, by the panels [panel, panel_end),
// kPanels at a time: the last ones overlap those before them if they must.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void MatMulRows(const MatMulArgs<T>& args, size_t row, size_t row_end, size_t panel, size_t panel_end) {
  static_assert(kRowBlock % kRows == 0, "a tile of rows lies within one block of the input");
  constexpr size_t kSums = (kRows == kTileRows ? kVectorRows : kRows) * kPanels * kLanes;
  alignas(kAlignment) float sums[2 * kSums];
  for (; panel < panel_end; panel += kPanels) {
    const size_t first = HWY_MIN(panel, panel_end - kPanels);
    SumRows<kRows, kPanels>(args, row, row_end, first, sums);
    if (args.gate) SumRows<kRows, kPanels>(args, row, row_end, first + args.n / 2 / kLanes, sums + kSums);
    StoreOutputs(OutputsOf(args), row, row_end - row, first, kPanels,
                 {.first = sums, .row_stride = kPanels * kLanes, .panel_stride = kLanes, .up = kSums});
  }
}

template <class T>
void MatMulOnVectors(const MatMulArgs<T>& args) {
  const size_t panel = args.panel_begin, panel_end = args.panel_end, panels = panel_end - panel;
  if (args.rows == 1) {
    const size_t whole = panel + panels / kRowStreams * kRowStreams;
    MatMulRows<1, kRowStreams>(args, 0, 1, panel, whole);
    MatMulRows<1, 1>(args, 0, 1, whole, panel_end);
  } else if (args.rows <= kFewRows && panels >= kFewStreams) {
    MatMulRows<kFewRows, kFewStreams>(args, args.row_begin, args.row_end, panel, panel_end);
  } else {
    for (size_t row = args.row_begin; row < args.row_end; row += kVectorRows) {
      MatMulRows<kTileRows, 1>(args, row, HWY_MIN(row + kVectorRows, args.row_end), panel, panel_end);
    }
  }
}

// With fewer rows than this, vectors are as fast as memory, and AMX is not: tiles that are mostly empty take as long as
// full ones, and codes are widened for it.
template <class T>
inline constexpr size_t kRowsForAmx = kIsGrouped<T> ? 9 : 5;
static_assert(QuantizedRows::Height(kRowsForAmx<Q8_0>) == kLanes, "a group of rows is one AMX tile");

template <class T>
void MatMul(const MatMulArgs<T>& args) {
  if (args.prepared_output != nullptr && args.row_end == args.rows && args.panel_begin == 0) {
    ClearTail(args.prepared_output, args.rows, args.n / 2);
  }
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if constexpr (!std::is_same_v<T, float>) {
    if (args.rows >= kRowsForAmx<T> && HaveAmx()) return MatMulAmx(args);
  }
#endif
  MatMulOnVectors(args);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
