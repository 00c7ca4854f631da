// SPDX-License-Identifier: Apache-2.0
//
// One tile of a product of bfloat16 by bfloat16 without widening, for processors with VDPBF16PS. That instruction adds
// two products to each sum one after the other, each rounded like a fused multiply-add, with subnormals taken for zero
// as in R6: sum = fma(a.high, b.high, sum), then sum = fma(a.low, b.low, sum). So it computes a chain of R1 if
// neighbours in a vector are neighbours in the chain: two even k or two odd k, the first of them high. Verified on
// AMD's Zen 4, in nine million random sums; not tested on Intel's.

#if defined(SKALD_KERNELS_SIMD_BF16_DOT_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_BF16_DOT_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_BF16_DOT_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_BF16_DOT_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

#if HWY_TARGET == HWY_AVX3_ZEN4

#include <immintrin.h>

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using PairsTag = hn::Repartition<uint16_t, FloatTag>;
using WordsTag = hn::RebindToUnsigned<FloatTag>;
using WordsVec = hn::Vec<WordsTag>;

// Words of one tile of a row: word 2i holds its terms 4i (high) and 4i + 2, word 2i + 1 terms 4i + 1 (high) and 4i + 3.
inline constexpr size_t kTileWords = kTile / 2;

HWY_INLINE WordsVec ChainPairs(WordsVec tile) {
  const hn::Repartition<uint8_t, FloatTag> bytes;
  const auto order = hn::Dup128VecFromValues(bytes, 4, 5, 0, 1, 6, 7, 2, 3, 12, 13, 8, 9, 14, 15, 10, 11);
  return hn::BitCast(WordsTag(), hn::TableLookupBytes(hn::BitCast(bytes, tile), order));
}
HWY_INLINE void StoreChainPairs(const bf16* x, uint32_t* words) {
  hn::Store(ChainPairs(hn::Load(WordsTag(), reinterpret_cast<const uint32_t*>(x))), WordsTag(), words);
}

// Reads two 64-byte rows of a packed panel, four terms of each output, as pairs of one chain each.
HWY_INLINE void LoadChainPairs(const bf16* row, WordsVec& even, WordsVec& odd) {
  const WordsTag words;
  const PairsTag pairs;
  const auto* const from = reinterpret_cast<const uint32_t*>(row);
  const WordsVec first = hn::LoadU(words, from), second = hn::LoadU(words, from + kLanes);
  even = hn::BitCast(words, hn::OddEven(hn::BitCast(pairs, hn::ShiftLeft<16>(first)), hn::BitCast(pairs, second)));
  odd = hn::BitCast(words, hn::OddEven(hn::BitCast(pairs, first), hn::BitCast(pairs, hn::ShiftRight<16>(second))));
}

HWY_INLINE FloatVec AddDots(WordsVec a, WordsVec b, FloatVec sum) {
  return FloatVec{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw), reinterpret_cast<__m512bh>(b.raw))};
}

// Adds one tile to `totals`, as AddTile of floats does. `factors` are [kRows][kTileWords], from StoreChainPairs. Terms
// without influence must be zero there and finite in `weights`.
template <size_t kRows, size_t kPanels>
HWY_INLINE void AddPairsOfTile(const uint32_t* factors, const bf16* weights, size_t panel_stride, const bf16* ahead,
                               Lanes (&totals)[kRows][kPanels]) {
  const WordsTag words;
  Lanes even[kRows][kPanels], odd[kRows][kPanels];
  ClearSums(even);
  ClearSums(odd);
  for (size_t i = 0; i < kTileWords; i += 2) {
    const bf16* const row = weights + 2 * i * kLanes;
    if (ahead != nullptr) {
      PrefetchRows<kPanels>(ahead + 2 * i * kLanes, panel_stride);
      PrefetchRows<kPanels>(ahead + (2 * i + 2) * kLanes, panel_stride);
    }
    WordsVec even_pairs[kPanels], odd_pairs[kPanels];
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) LoadChainPairs(row + p * panel_stride, even_pairs[p], odd_pairs[p]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const uint32_t* const factor = factors + r * kTileWords + i;
      const WordsVec even_factor = hn::Set(words, factor[0]), odd_factor = hn::Set(words, factor[1]);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) {
        even[r][p].part[0] = AddDots(even_factor, even_pairs[p], even[r][p].part[0]);
        odd[r][p].part[0] = AddDots(odd_factor, odd_pairs[p], odd[r][p].part[0]);
      }
    }
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) totals[r][p] = Add(totals[r][p], Add(even[r][p], odd[r][p]));
  }
}

// The same for unchanged rows, [kRows, kTile].
template <size_t kRows, size_t kPanels>
HWY_INLINE void AddTile(const bf16* x, const bf16* weights, size_t panel_stride, const bf16* ahead,
                        Lanes (&totals)[kRows][kPanels]) {
  alignas(kAlignment) uint32_t factors[kRows * kTileWords];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) StoreChainPairs(x + r * kTile, factors + r * kTileWords);
  AddPairsOfTile(factors, weights, panel_stride, ahead, totals);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_ZEN4

#endif  // SKALD_KERNELS_SIMD_BF16_DOT_INL_TOGGLE
