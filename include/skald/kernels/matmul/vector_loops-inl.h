// SPDX-License-Identifier: Apache-2.0
//
// The loops of a matrix multiplication on vectors over its rows and panels. They are the same for all types of weights,
// and compiled once for all: the function that sums a tile is a pointer.

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

// How the work is split: so many terms of a panel stay in the first-level cache for a group of rows. A single row reads
// all of K at once. AVX2 multiplies rows by fours and by sixes.
inline constexpr size_t kVectorRows = kKnownParts == 2 ? 96 : 128, kVectorTerms = 256;
static_assert(kVectorTerms % kActivationBlock == 0);

// The most panels of a tile for many rows.
inline constexpr size_t kManyPanels = kKnownParts == 1 ? 2 : 1;

// Adds the terms [k, k_end) of a tile of rows and panels to `sums`, [rows][panels][kLanes], which begin at k = 0.
// `args` points to the function's own arguments, usually the MatMulArgs of a type of weights.
using SumFunction = void (*)(const void* args, size_t row, size_t panel, size_t k, size_t k_end, float* sums);

// Prepares the terms [k, k_end) of one panel for many rows.
using ExpandFunction = void (*)(const void* args, size_t panel, size_t k, size_t k_end);

// A tile of rows and panels that are summed in registers.
struct TileShape {
  size_t rows, panels;
  SumFunction sum;
  bool is_expanded = false;  // sums the output of VectorProduct::expand
};

// A multiplication by weights of any type, and the tiles for one row, for few rows and for many.
struct VectorProduct {
  const void* args;
  MatMulOutputs to;
  size_t padded_k, row_begin, row_end, panel_begin, panel_end;
  TileShape one, one_panel, few, many;
  TileShape rest = {};  // of fewer rows than `many`, for what is left of a block of rows
  size_t group = kVectorRows, terms = kVectorTerms;
  size_t few_limit = kFewRows;  // at most so many rows are few
  bool by_block = false;        // tiles sum so many terms at a time, even for one row
  ExpandFunction expand = nullptr;
};

// Returns a multiplication without its tiles.
template <class T>
HWY_INLINE VectorProduct VectorLoopsOf(const MatMulArgs<T>& args) {
  return {.args = &args,
          .to = OutputsOf(args),
          .padded_k = args.padded_k,
          .row_begin = args.row_begin,
          .row_end = args.row_end,
          .panel_begin = args.panel_begin,
          .panel_end = args.panel_end,
          .one = {},
          .one_panel = {},
          .few = {},
          .many = {},
          .rest = {}};
}

// Returns the tile for the next of `left` rows: the one that leaves fewer rows of tiles empty.
HWY_INLINE const TileShape& TileFor(const VectorProduct& product, const TileShape& tile, size_t left) {
  const size_t rest = product.rest.rows;
  return left <= rest || (left > tile.rows && left <= 2 * rest) ? product.rest : tile;
}

// Sums rows [row, row_end) by a tile's panels; the sums of rows below the last one are never read.
inline void SumRows(const VectorProduct& product, const TileShape& tile, size_t row, size_t row_end, size_t panel,
                    float* sums) {
  const size_t terms = tile.rows == 1 && !product.by_block ? product.padded_k : product.terms;
  for (size_t k = 0; k < product.padded_k; k += terms) {
    const size_t k_end = HWY_MIN(k + terms, product.padded_k);
    if (tile.is_expanded) product.expand(product.args, panel, k, k_end);
    for (size_t r = row, rows; r < row_end; r += rows) {
      const TileShape& shape = TileFor(product, tile, HWY_MIN(row_end - r, kRowBlock - r % kRowBlock));
      shape.sum(product.args, r, panel, k, k_end, sums + (r - row) * tile.panels * kLanes);
      rows = shape.rows;
    }
  }
}

// Computes the outputs of at most product.group rows, or of a single tile of fewer, by the panels [panel, panel_end), a
// tile's at a time; the last tile may overlap the one before it.
inline void MultiplyRows(const VectorProduct& product, const TileShape& tile, size_t row, size_t row_end, size_t panel,
                         size_t panel_end) {
  constexpr size_t kMaxSums = kVectorRows * kManyPanels * kLanes;
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
  } else if (product.to.rows <= product.few_limit && panels >= product.few.panels) {
    MultiplyRows(product, product.few, product.row_begin, product.row_end, panel, panel_end);
  } else {
    for (size_t row = product.row_begin; row < product.row_end; row += product.group) {
      MultiplyRows(product, product.many, row, HWY_MIN(row + product.group, product.row_end), panel, panel_end);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_VECTOR_LOOPS_INL_TOGGLE
