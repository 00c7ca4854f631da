// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of several rows by float (arithmetic contract, R1): one chain for each output, in as many registers as
// there are. A chunk of panels stays in the first-level cache for a group of rows, which meanwhile prefetch the next
// one, each its part, a line at a time between the products.

#if defined(SKALD_KERNELS_MATMUL_F32_BLOCK_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_F32_BLOCK_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_F32_BLOCK_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_F32_BLOCK_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The tile. AVX-512 and AVX2 multiply a block of 16 rows as 6, 6 and 4; four panels are what threads take together.
inline constexpr size_t kF32Rows = kKnownParts == 1 || kKnownParts == 2 ? 6 : HWY_ARCH_ARM ? 4 : 2;
inline constexpr size_t kF32RestRows = HWY_MIN(kF32Rows, size_t{4});
inline constexpr size_t kF32Panels = kKnownParts == 1 ? 4 : 1;

// With fewer rows, reading the weights takes longer than multiplying.
inline constexpr size_t kRowsForF32Block = 5;

// Terms of a chunk: the first-level cache holds this one and what is there of the next. Rows of a group: their
// activations stay in the second-level cache, their sums in the buffer of MultiplyRows.
inline constexpr size_t kF32Terms = kKnownParts == 1 ? 96 : kVectorTerms;
inline constexpr size_t kF32Group = kVectorRows * kManyPanels / HWY_MAX(kF32Panels, kManyPanels);
static_assert(kF32Terms % kTile == 0 && kF32Group % kRowBlock == 0);

// The part of the next chunk that is still to be prefetched.
struct ChunkAhead {
  const float* next;
  size_t terms;
};

// A multiplication, and how many terms of the next chunk to prefetch during each tile.
struct F32Product {
  const MatMulArgs<float>& args;
  size_t terms_per_tile;
  ChunkAhead& ahead;

  HWY_INLINE const float* At(size_t panel, size_t k) const {
    return args.weights + (panel * args.padded_k + k) * kLanes;
  }
};

// Begins with the terms [k, k_end) of some panels: an ExpandFunction.
inline void BeginChunk(const void* f32_product, size_t panel, size_t, size_t k_end) {
  const auto& product = *static_cast<const F32Product*>(f32_product);
  const bool is_last = k_end == product.args.padded_k;
  product.ahead = {is_last ? product.At(panel + kF32Panels, 0) : product.At(panel, k_end), kF32Terms};
}

// The sums of kRows rows and kF32Panels panels, after BeginChunk: a SumFunction.
template <size_t kRows>
void SumChunk(const void* f32_product, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const F32Product*>(f32_product);
  const MatMulArgs<float>& args = product.args;
  const size_t stride = args.padded_k * kLanes, step = RowBlockHeight(args.rows, row) * kTile;
  const float* x = args.input + PreparedIndex(args.rows, row, k, args.padded_k);
  Lanes totals[kRows][kF32Panels];
  k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
  for (; k < k_end; k += kTile, x += step) {
    const float* const none = nullptr;
    const size_t terms = HWY_MIN(product.terms_per_tile, product.ahead.terms);
    AddPartOfTile(x, product.At(panel, k), stride, 0, terms, product.ahead.next, totals);
    AddPartOfTile(x, product.At(panel, k), stride, terms, kTile, none, totals);
    product.ahead.next += terms * kLanes, product.ahead.terms -= terms;
  }
  StoreTile(totals, sums);
}

inline void MultiplyF32(const MatMulArgs<float>& args) {
  const size_t passes = hwy::DivCeil(HWY_MIN(args.row_end - args.row_begin, kF32Group), kF32Rows);
  ChunkAhead ahead = {nullptr, 0};
  const F32Product f32 = {args, hwy::DivCeil(kTile, passes), ahead};
  VectorProduct product = VectorLoopsOf(args);
  product.args = &f32, product.expand = &BeginChunk;
  product.few_limit = 0, product.group = kF32Group, product.terms = kF32Terms;
  product.many = {kF32Rows, kF32Panels, &SumChunk<kF32Rows>, true};
  product.rest = {kF32RestRows, kF32Panels, &SumChunk<kF32RestRows>, true};
  MultiplyOnVectors(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_F32_BLOCK_INL_TOGGLE
