// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by a packed matrix of float or bfloat16 (arithmetic contract, R1).

#if defined(SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/chain_block-inl.h"
#include "skald/kernels/matmul/f32_block-inl.h"
#include "skald/kernels/matmul/float_block-inl.h"
#include "skald/kernels/matmul/matmul_amx-inl.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/bf16_dot-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Adds one tile of K to `totals`: `input` is [kRows, kTile], `weights` the tile in the first panel. bfloat16 factors
// that cannot be multiplied directly become floats on the stack (L1), from where the multiplication broadcasts them
// without an extra instruction.
template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void AddTileOfK(const T* input, const T* weights, size_t panel_stride, const T* ahead,
                           Lanes (&totals)[kRows][kPanels]) {
#if HWY_TARGET == HWY_AVX3_ZEN4
  AddTile(input, weights, panel_stride, ahead, totals);
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
  AddTile(factors, weights, panel_stride, ahead, totals);
#endif
}

// The sums of a tile of rows and panels: a SumFunction for each shape.
template <class T>
struct TileSum {
  template <size_t kRows, size_t kPanels>
  static void Add(const void* matmul_args, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
    const auto& args = *static_cast<const MatMulArgs<T>*>(matmul_args);
    constexpr size_t kTileBytes = kTile * kLanes * sizeof(T);
    const size_t panel_stride = kLanes * args.padded_k, height = RowBlockHeight(args.rows, row);
    const T* const input = args.input + PreparedIndex(args.rows, row, 0, args.padded_k);
    const T* const weights = args.weights + panel * panel_stride;
    Lanes totals[kRows][kPanels];
    k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
    for (; k < k_end; k += kTile) {
      const T* const tile = weights + k * kLanes;
      const size_t ahead = BytesAhead<kPanels, kTileBytes>(k / kTile * kTileBytes, panel_stride * sizeof(T));
      AddTileOfK(input + k * height, tile, panel_stride, kAsksAhead<kRows> ? tile + ahead / sizeof(T) : nullptr,
                 totals);
    }
    StoreTile(totals, sums);
  }
};

// A tile of so many rows and panels.
template <class T, size_t kRows, size_t kPanels>
inline constexpr TileShape kTileShape = {kRows, kPanels, &TileSum<T>::template Add<kRows, kPanels>};

template <class T>
void MatMul(const MatMulArgs<T>& args) {
  ClearPreparedOutput(args);
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if constexpr (std::is_same_v<T, bf16>) {
    // With fewer rows, vectors are as fast as memory, and AMX is not: tiles that are mostly empty take as long as full
    // ones.
    constexpr size_t kRowsForAmx = 5;
    if (args.rows >= kRowsForAmx && HaveAmx()) return MatMulAmx(args);
  }
#endif
  static_assert(kRowBlock % kTileRows == 0 && kRowBlock % kFewRows == 0, "a tile lies within one block of the input");
  if constexpr (std::is_same_v<T, float>) {
    if (args.rows >= kRowsForF32Block && args.panel_end - args.panel_begin >= kF32Panels) return MultiplyF32(args);
  }
  VectorProduct product = VectorLoopsOf(args);
  product.one = kTileShape<T, 1, kRowStreams>, product.one_panel = kTileShape<T, 1, 1>;
  product.few = kTileShape<T, kFewRows, kFewStreams>, product.many = kTileShape<T, kTileRows, 1>;
  if constexpr (std::is_same_v<T, bf16> && kWidensPanels) {
    constexpr size_t kFewForWidening = 16;  // with fewer, it costs more than it saves
    if (args.rows > kFewForWidening) return MultiplyWidened(args);
    product.few_limit = kFewForWidening;
  }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<T, bf16>) {
    if (args.rows >= kRowsForChains && args.panel_end - args.panel_begin >= kChainPanels) return MultiplyChains(args);
  }
#endif
  MultiplyOnVectors(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_MATMUL_INL_TOGGLE
