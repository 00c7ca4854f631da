// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of bfloat16 activations by a packed matrix on AMX tiles, for two or more rows.

#if defined(SKALD_KERNELS_MATMUL_MATMUL_AMX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_MATMUL_AMX_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_MATMUL_AMX_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_MATMUL_AMX_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/simd/amx-inl.h"
#include "skald/kernels/simd/amx_support.h"

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// How the work is split. kChunkTerms of two panels (16 KB of weights) stay in the first-level cache for all rows of a
// group; kMatMulDepth terms of a group's activations stay in the second-level cache for all panels. Between chunks, the
// sums of two panels are kept in a buffer.
inline constexpr size_t kPairRows = 2 * kRowBlock;
inline constexpr size_t kTileSums = kTileHeight * kLanes, kPairSums = 4 * kTileSums;
inline constexpr size_t kChunkTerms = 256;

// The operands of one run over K: two row blocks and two panels, of which the second may be absent.
struct TileOperands {
  const bf16* upper;
  const bf16* lower;
  size_t upper_step, lower_step;  // from one tile to the next
  const bf16* left;
  const bf16* right;
};

// Elements between the two panels of a pair, which are neighbours, or a panel of gates and its counterpart.
HWY_INLINE size_t PairStride(const MatMulArgs<bf16>& args) { return (args.gate ? args.n / 2 : kLanes) * args.padded_k; }

HWY_INLINE TileOperands OperandsAt(const MatMulArgs<bf16>& args, size_t row, size_t panel, size_t k) {
  const size_t upper_height = RowBlockHeight(args.rows, row);
  const size_t lower_height = row + kRowBlock < args.rows ? RowBlockHeight(args.rows, row + kRowBlock) : 0;
  const bf16* const block = args.input + row * args.padded_k;
  const bf16* const left = args.weights + panel * kLanes * args.padded_k + k * kLanes;
  return {.upper = block + k * upper_height,
          .lower = block + kRowBlock * args.padded_k + k * lower_height,
          .upper_step = upper_height * kTile,
          .lower_step = lower_height * kTile,
          .left = left,
          .right = left + PairStride(args)};
}

// With fewer pairs of row blocks than this the weights are read so fast that the processor prefetches better by itself.
inline constexpr size_t kPairsToAskAhead = 4;

// Memory that is needed soon: so many lines of it are prefetched with each tile of K.
struct Ahead {
  const std::byte* left;
  const std::byte* right;
  size_t lines;

  HWY_INLINE void Ask(const std::byte*& memory) const {
    for (size_t i = 0; i < lines; ++i) _mm_prefetch(memory + i * kAlignment, _MM_HINT_T1);
    memory += lines * kAlignment;
  }
};

// Adds `steps` tiles of K to `sums`, four tiles [row half][panel half][16][16], or writes them there if they are the
// `first`. With kLower there is a second row block, with kRight a second panel. Tiles are loaded at full height: the
// sums of rows below the last one are never read.
template <bool kLower, bool kRight>
SKALD_AMX void SumTiles(TileOperands at, size_t steps, bool first, Ahead& ahead, float* sums) {
  FinishStores();
  if (first) {
    _tile_zero(0);
    if constexpr (kRight) _tile_zero(1);
    if constexpr (kLower) _tile_zero(2);
    if constexpr (kLower && kRight) _tile_zero(3);
  } else {
    _tile_loadd(0, sums, kTileRowBytes);
    if constexpr (kRight) _tile_loadd(1, sums + kTileSums, kTileRowBytes);
    if constexpr (kLower) _tile_loadd(2, sums + 2 * kTileSums, kTileRowBytes);
    if constexpr (kLower && kRight) _tile_loadd(3, sums + 3 * kTileSums, kTileRowBytes);
  }
  for (size_t i = 0; i < steps; ++i) {
    _tile_loadd(6, at.left, kTileRowBytes);
    _tile_loadd(4, at.upper, kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    ahead.Ask(ahead.left);
    if constexpr (kRight) {
      _tile_loadd(7, at.right, kTileRowBytes);
      _tile_dpbf16ps(1, 4, 7);
      ahead.Ask(ahead.right);
    }
    if constexpr (kLower) {
      _tile_loadd(5, at.lower, kTileRowBytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kRight) _tile_dpbf16ps(3, 5, 7);
    }
    at.left += kTile * kLanes, at.right += kTile * kLanes;
    at.upper += at.upper_step, at.lower += at.lower_step;
  }
  _tile_stored(0, sums, kTileRowBytes);
  if constexpr (kRight) _tile_stored(1, sums + kTileSums, kTileRowBytes);
  if constexpr (kLower) _tile_stored(2, sums + 2 * kTileSums, kTileRowBytes);
  if constexpr (kLower && kRight) _tile_stored(3, sums + 3 * kTileSums, kTileRowBytes);
  FinishStores();
}

SKALD_AMX void SumTiles(bool lower, bool right, const TileOperands& at, size_t steps, bool first, Ahead& ahead,
                        float* sums) {
  if (lower) {
    right ? SumTiles<true, true>(at, steps, first, ahead, sums) : SumTiles<true, false>(at, steps, first, ahead, sums);
  } else {
    right ? SumTiles<false, true>(at, steps, first, ahead, sums)
          : SumTiles<false, false>(at, steps, first, ahead, sums);
  }
}

// Writes the outputs of up to kPairRows rows by a pair of panels; for a gated product the pair makes one panel of
// outputs.
HWY_INLINE void StorePair(const MatMulArgs<bf16>& args, size_t row, size_t rows, size_t panel, const float* sums) {
  const size_t panels = args.gate ? 1 : HWY_MIN(size_t{2}, args.panel_end - panel);
  for (size_t r = 0; r < rows; r += kTileHeight, sums += 2 * kTileSums) {
    StoreOutputs(OutputsOf(args), row + r, HWY_MIN(kTileHeight, rows - r), panel, panels,
                 {.first = sums, .row_stride = kLanes, .panel_stride = kTileSums, .up = kTileSums});
  }
}

// Adds the terms [k, k_end) of a pair of panels to the rows [row, row_end); `sums` holds kPairSums for each pair of row
// blocks.
inline void MatMulChunk(const MatMulArgs<bf16>& args, size_t row, size_t row_end, size_t panel, size_t k, size_t k_end,
                        float* sums) {
  const size_t pairs = (row_end - row + kPairRows - 1) / kPairRows;
  const bool right = args.gate || panel + 1 < args.panel_end;
  const bf16* const next = OperandsAt(args, row, panel + (args.gate ? 1 : 2), k).left;
  Ahead ahead = {.left = reinterpret_cast<const std::byte*>(next),
                 .right = reinterpret_cast<const std::byte*>(next + PairStride(args)),
                 .lines = pairs < kPairsToAskAhead ? 0 : (kTileHeight + pairs - 1) / pairs};
  for (; row < row_end; row += kPairRows, sums += kPairSums) {
    const size_t rows = HWY_MIN(kPairRows, row_end - row);
    SumTiles(rows > kRowBlock, right, OperandsAt(args, row, panel, k), (k_end - k) / kTile, k == 0, ahead, sums);
    if (k_end < args.padded_k) continue;
    StorePair(args, row, rows, panel, sums);
  }
}

// One group of at most kMatMulGroup rows.
inline void MatMulGroup(const MatMulArgs<bf16>& args, size_t row, size_t row_end) {
  const size_t panels = args.gate ? 1 : 2;  // of args.panel_begin to panel_end, for each pair
  alignas(kAlignment) float near_sums[kMatMulGroup / kPairRows * kPairSums];
  const size_t rows = RoundUp(row_end - row, kPairRows), padded_n = RoundUp(args.n, kLanes);
  const bool at_once = PartialSumsSize(args.rows, args.n, args.padded_k) == 0;
  const size_t depth_terms = at_once ? args.padded_k : kMatMulDepth;
  for (size_t depth = 0; depth < args.padded_k; depth += depth_terms) {
    const size_t depth_end = HWY_MIN(args.padded_k, depth + depth_terms);
    for (size_t panel = args.panel_begin; panel < args.panel_end; panel += panels) {
      float* const sums =
          at_once ? near_sums : args.partial_sums + row * padded_n + panel * rows * (2 / panels) * kLanes;
      for (size_t k = depth; k < depth_end; k += kChunkTerms) {
        MatMulChunk(args, row, row_end, panel, k, HWY_MIN(depth_end, k + kChunkTerms), sums);
      }
    }
  }
}

inline void MatMulAmx(const MatMulArgs<bf16>& args) {
  SetTileShapes();
  for (size_t row = args.row_begin; row < args.row_end; row += kMatMulGroup) {
    MatMulGroup(args, row, HWY_MIN(args.row_end, row + kMatMulGroup));
  }
  ReleaseTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_MATMUL_MATMUL_AMX_INL_TOGGLE
