// SPDX-License-Identifier: Apache-2.0
//
// The loops of a matrix multiplication on vectors over its rows and panels. They are the same for all types of weights,
// and compiled once for all: what adds up a tile comes in as a pointer.

#if defined(SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// How many panels are read side by side for one row and for few.
inline constexpr size_t kRowStreams = kOneStream ? 1 : kRowPanels, kFewStreams = kOneStream ? 1 : kFewPanels;

// How the work is cut: so many terms of a panel stay in the first-level cache while a group of rows passes over them. A
// single row passes over all of K at once.
inline constexpr size_t kVectorRows = 128, kVectorTerms = 256;
static_assert(kVectorTerms % kActivationBlock == 0);

// Adds the terms [k, k_end) of a tile of rows and panels to `sums`, [rows][panels][kLanes], which begin at k = 0.
// `args` points to the MatMulArgs of the type of weights that the function is for.
using SumFunction = void (*)(const void* args, size_t row, size_t panel, size_t k, size_t k_end, float* sums);

// A tile of rows and panels that are summed in registers.
struct TileShape {
  size_t rows, panels;
  SumFunction sum;
};

// A multiplication by weights of any type, and the tiles for one row, for few rows and for many.
struct VectorProduct {
  const void* args;
  MatMulOutputs to;
  size_t padded_k, row_begin, row_end, panel_begin, panel_end;
  TileShape one, one_panel, few, many;
};

// Returns the multiplication by the sums of Sum<kRows, kPanels>().
template <class Sum, class T>
HWY_INLINE VectorProduct VectorProductOf(const MatMulArgs<T>& args) {
  constexpr size_t kManyRows = Sum::kManyRows;
  static_assert(kRowBlock % kManyRows == 0 && kRowBlock % kFewRows == 0, "a tile lies within one block of the input");
  return {.args = &args,
          .to = OutputsOf(args),
          .padded_k = args.padded_k,
          .row_begin = args.row_begin,
          .row_end = args.row_end,
          .panel_begin = args.panel_begin,
          .panel_end = args.panel_end,
          .one = {1, kRowStreams, &Sum::template Add<1, kRowStreams>},
          .one_panel = {1, 1, &Sum::template Add<1, 1>},
          .few = {kFewRows, kFewStreams, &Sum::template Add<kFewRows, kFewStreams>},
          .many = {kManyRows, 1, &Sum::template Add<kManyRows, 1>}};
}

// Sums rows [row, row_end) by a tile's panels; what a tile finds below the last row becomes sums that nobody reads.
inline void SumRows(const VectorProduct& product, const TileShape& tile, size_t row, size_t row_end, size_t panel,
                    float* sums) {
  const size_t terms = tile.rows == 1 ? product.padded_k : kVectorTerms;
  for (size_t k = 0; k < product.padded_k; k += terms) {
    for (size_t r = row; r < row_end; r += tile.rows) {
      tile.sum(product.args, r, panel, k, HWY_MIN(k + terms, product.padded_k),
               sums + (r - row) * tile.panels * kLanes);
    }
  }
}

// Computes the outputs of at most kVectorRows rows, or of a single tile of fewer, by the panels [panel, panel_end), a
// tile's at a time: the last ones overlap those before them if they must.
inline void MultiplyRows(const VectorProduct& product, const TileShape& tile, size_t row, size_t row_end, size_t panel,
                         size_t panel_end) {
  constexpr size_t kMaxSums = kVectorRows * kLanes;
  static_assert(kTileRows <= kVectorRows && kFewRows * kFewStreams <= kVectorRows && kRowStreams <= kVectorRows);
  alignas(kAlignment) float sums[2 * kMaxSums];
  for (; panel < panel_end; panel += tile.panels) {
    const size_t first = HWY_MIN(panel, panel_end - tile.panels);
    SumRows(product, tile, row, row_end, first, sums);
    if (product.to.gate) {
      SumRows(product, tile, row, row_end, first + product.to.n / 2 / kLanes, sums + kMaxSums);
    }
    StoreOutputs(product.to, row, row_end - row, first, tile.panels,
                 {.first = sums, .row_stride = tile.panels * kLanes, .panel_stride = kLanes, .up = kMaxSums});
  }
}

inline void MultiplyOnVectors(const VectorProduct& product) {
  const size_t panel = product.panel_begin, panel_end = product.panel_end, panels = panel_end - panel;
  if (product.to.rows == 1) {
    const size_t whole = panel + panels / kRowStreams * kRowStreams;
    MultiplyRows(product, product.one, 0, 1, panel, whole);
    MultiplyRows(product, product.one_panel, 0, 1, whole, panel_end);
  } else if (product.to.rows <= kFewRows && panels >= kFewStreams) {
    MultiplyRows(product, product.few, product.row_begin, product.row_end, panel, panel_end);
  } else {
    for (size_t row = product.row_begin; row < product.row_end; row += kVectorRows) {
      MultiplyRows(product, product.many, row, HWY_MIN(row + kVectorRows, product.row_end), panel, panel_end);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE
