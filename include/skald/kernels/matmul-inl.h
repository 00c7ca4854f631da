// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by a packed matrix of any type: the loops over rows and panels, and for float and
// bfloat16 the sums over K (arithmetic contract, R1).

#if defined(SKALD_KERNELS_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/group_layout.h"
#include "skald/base/numeric.h"
#include "skald/kernels/amx_support.h"
#include "skald/kernels/args.h"
#include "skald/kernels/bf16-inl.h"
#include "skald/kernels/group_matmul-inl.h"
#include "skald/kernels/group_matmul_amx-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/matmul_amx-inl.h"
#include "skald/kernels/outputs-inl.h"
#include "skald/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Adds one tile of K to `totals`: `input` is [kRows, kTile], `weights` the tile in the first panel. bfloat16 factors
// are expanded to floats on the stack (L1), from where the multiplication broadcasts them without an extra instruction.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddTileOfK(const T* input, const T* weights, size_t panel_stride, const T* ahead,
                           Lanes (&totals)[kRows][kPanels]) {
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
}

// Returns the term, counted from the first of kPanels panels, to ask memory for while term k is multiplied: some way on
// in the same panels, or in those that follow them.
template <size_t kPanels, class T>
HWY_INLINE size_t TermAhead(size_t k, size_t padded_k) {
  constexpr size_t kBytesAhead = 4096, kStep = kPanels * kLanes * sizeof(T);
  const size_t ahead = k + RoundUp(kBytesAhead / kStep, kTile);
  return ahead < padded_k ? ahead : ahead + (kPanels - 1) * padded_k;
}

// Writes the sums of kRows rows by kPanels panels to `sums`, [kRows][kPanels][kLanes]. They stay in registers over all
// of K.
template <size_t kRows, size_t kPanels, class T>
  requires(!kIsGrouped<T>)
HWY_NOINLINE void SumTile(const MatMulArgs<T>& args, size_t row, size_t panel, float* sums) {
  const size_t panel_stride = kLanes * args.padded_k, height = RowBlockHeight(args.rows, row);
  const T* const input = args.input + PreparedIndex(args.rows, row, 0, args.padded_k);
  const T* const weights = args.weights + panel * panel_stride;
  Lanes totals[kRows][kPanels];
  ClearSums(totals);
  for (size_t k = 0; k < args.padded_k; k += kTile) {
    AddTileOfK(input + k * height, weights + k * kLanes, panel_stride,
               weights + TermAhead<kPanels, T>(k, args.padded_k) * kLanes, totals);
  }
  StoreTile(totals, sums);
}

// Computes the outputs of kRows rows, of which as many are real as there are, by kPanels panels. What a kernel finds
// below the last row becomes sums that nobody reads.
template <size_t kRows, size_t kPanels, class T>
void MatMulTile(const MatMulArgs<T>& args, size_t row, size_t panel) {
  constexpr size_t kSums = kRows * kPanels * kLanes;
  alignas(kAlignment) float sums[2 * kSums];
  SumTile<kRows, kPanels>(args, row, panel, sums);
  if (args.gate) SumTile<kRows, kPanels>(args, row, panel + args.n / 2 / kLanes, sums + kSums);
  StoreOutputs(OutputsOf(args), row, HWY_MIN(kRows, args.row_end - row), panel, kPanels,
               {.first = sums, .row_stride = kPanels * kLanes, .panel_stride = kLanes, .up = kSums});
}

// All rows by the panels [panel, panel_end), kPanels at a time: the last ones overlap those before them if they must.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void MatMulPanels(const MatMulArgs<T>& args, size_t panel, size_t panel_end) {
  static_assert(kRowBlock % kRows == 0, "a tile of rows lies within one block of the input");
  for (; panel < panel_end; panel += kPanels) {
    const size_t first = HWY_MIN(panel, panel_end - kPanels);
    for (size_t row = args.row_begin; row < args.row_end; row += kRows) MatMulTile<kRows, kPanels>(args, row, first);
  }
}

// Outer loop: a few panels (K = 2048: 64 KiB each in bfloat16), which stay in L2 while all rows pass over them.
// So memory is read once and in order, however many rows there are.
template <class T>
void MatMulOnVectors(const MatMulArgs<T>& args) {
  const size_t panel = args.panel_begin, panel_end = args.panel_end;
  if (args.rows == 1) {
    const size_t whole = panel + (panel_end - panel) / kRowPanels * kRowPanels;
    MatMulPanels<1, kRowPanels>(args, panel, whole);
    MatMulPanels<1, 1>(args, whole, panel_end);
  } else if (panel_end - panel >= kTilePanels) {
    MatMulPanels<kTileRows, kTilePanels>(args, panel, panel_end);
  } else {
    MatMulPanels<1, 1>(args, panel, panel_end);
  }
}

// With fewer rows than this, vectors are as fast as memory, and AMX is not: tiles that are mostly empty take as long as
// full ones, and codes are widened for it.
template <class T>
inline constexpr size_t kRowsForAmx = kIsGrouped<T> ? 9 : 5;

template <class T>
void MatMul(const MatMulArgs<T>& args) {
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

#endif  // SKALD_KERNELS_MATMUL_INL_TOGGLE
