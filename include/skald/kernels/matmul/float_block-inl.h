// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of many rows by bfloat16 (arithmetic contract, R1) in registers of AVX2. These are too few for even
// terms, odd terms and totals of as many rows as hide the latency of an addition. So a part of a panel is widened once,
// even terms before odd ones, and then there is one chain at a time for each output.

#if defined(SKALD_KERNELS_MATMUL_FLOAT_BLOCK_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_FLOAT_BLOCK_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_FLOAT_BLOCK_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_FLOAT_BLOCK_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Whether bfloat16 is widened for many rows, and for how many at a time: twelve chains, two registers of weights, and
// one of a factor.
inline constexpr bool kWidensPanels = kKnownParts == 2;
inline constexpr size_t kWidenedRows = 6;

// A multiplication, and kVectorTerms terms of a panel in the first-level cache: [terms / 32][2][16][kLanes], of each
// tile its even terms and then its odd ones.
struct WidenedProduct {
  const MatMulArgs<bf16>& args;
  float* block;
};

// Widens the terms [k, k_end) of a panel: an ExpandFunction.
inline void WidenPanel(const void* widened_product, size_t panel, size_t k, size_t k_end) {
  const auto& product = *static_cast<const WidenedProduct*>(widened_product);
  const bf16* row = product.args.weights + (panel * product.args.padded_k + k) * kLanes;
  float* to = product.block;
  for (; k < k_end; k += kTile, to += kTile / 2 * kLanes) {
    for (size_t i = 0; i < kTile / 2; ++i, row += 2 * kLanes, to += kLanes) {
      hwy::Prefetch(row + kVectorTerms * kLanes);
      StoreLanes(LoadEven(row), to);
      StoreLanes(LoadOdd(row), to + kTile / 2 * kLanes);
    }
  }
}

// Where a row of activations is in memory: a tile of it, and the distance to the next.
struct ActivationRow {
  const bf16* tile;
  size_t step;
};

// Writes a tile of each row to `to`, [kWidenedRows][2][kTile / 2], and advances to the next.
HWY_INLINE void WidenActivations(ActivationRow (&rows)[kWidenedRows], float* to) {
  const BitsTag bits;
  constexpr size_t kHalf = kTile / 2;
  const size_t step = hn::Lanes(bits);
  HWY_UNROLL(8)
  for (ActivationRow& row : rows) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kHalf; i += step) {
      const BitsVec pairs = hn::LoadU(bits, reinterpret_cast<const uint32_t*>(row.tile) + i);
      hn::Store(hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs)), FloatTag(), to + i);
      hn::Store(hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(bits, 0xFFFF0000u))), FloatTag(), to + kHalf + i);
    }
    row.tile += row.step;
    to += kTile;
  }
}

// Sets `sums` to the products of half a tile, one chain for each row and lane.
HWY_INLINE void MultiplyHalfTile(const float* x, const float* weights, Lanes (&sums)[kWidenedRows][1]) {
  ClearSums(sums);
  HWY_UNROLL(2)
  for (size_t i = 0; i < kTile / 2; ++i) {
    const Lanes terms[1] = {LoadLanes(weights + i * kLanes)};
    AddTerm(x + i, terms, sums);
  }
}

// The sums of kWidenedRows rows and the widened panel: a SumFunction. Rows below the last one repeat it.
inline void SumWidened(const void* widened_product, size_t row, size_t, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const WidenedProduct*>(widened_product);
  const MatMulArgs<bf16>& args = product.args;
  ActivationRow rows[kWidenedRows];
  for (size_t r = 0; r < kWidenedRows; ++r) {
    const size_t at = HWY_MIN(row + r, args.rows - 1);
    rows[r] = {args.input + PreparedIndex(args.rows, at, k, args.padded_k), RowBlockHeight(args.rows, at) * kTile};
  }
  if (k == 0) {
    for (size_t i = 0; i < kWidenedRows * kLanes; ++i) sums[i] = 0.0f;
  }
  const float* weights = product.block;
  alignas(kAlignment) float x[kWidenedRows * kTile], even[kWidenedRows * kLanes];
  for (; k < k_end; k += kTile, weights += kTile * kLanes) {
    WidenActivations(rows, x);
    Lanes chains[kWidenedRows][1];
    MultiplyHalfTile(x, weights, chains);
    StoreTile(chains, even);
    MultiplyHalfTile(x + kTile / 2, weights + kTile / 2 * kLanes, chains);
    HWY_UNROLL(8)
    for (size_t r = 0; r < kWidenedRows; ++r) {
      const Lanes sum = Add(LoadLanes(even + r * kLanes), chains[r][0]);
      StoreLanes(Add(LoadLanes(sums + r * kLanes), sum), sums + r * kLanes);
    }
  }
}

inline void MultiplyWidened(const MatMulArgs<bf16>& args) {
  alignas(kAlignment) float block[kVectorTerms * kLanes];
  const WidenedProduct widened = {args, block};
  VectorProduct product = VectorLoopsOf(args);
  product.args = &widened, product.expand = &WidenPanel;
  product.few_limit = 0, product.many = {kWidenedRows, 1, &SumWidened, true};
  MultiplyOnVectors(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_FLOAT_BLOCK_INL_TOGGLE
