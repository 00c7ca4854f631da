// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of many rows by bfloat16 (arithmetic contract, R1) in registers of AVX-512: even and odd chains of
// four rows and two panels at a time. Each factor is read once and multiplied by two panels. On Zen 5, one product in a
// cycle for each factor read leaves a quarter of the multipliers idle; these 16 chains keep both busy.

#if defined(SKALD_KERNELS_MATMUL_CHAIN_BLOCK_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_CHAIN_BLOCK_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_CHAIN_BLOCK_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_CHAIN_BLOCK_INL_TOGGLE
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
#include "skald/kernels/simd/bf16_dot-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

inline constexpr size_t kChainRows = 4, kChainPanels = 2;

#if HWY_TARGET == HWY_AVX3_ZEN4

// A word is two terms of a chain. Bringing weights into that form takes as long as multiplying a row by them, so it is
// done once for all rows, in the first-level cache. With fewer rows than this it does not pay.
inline constexpr size_t kWordTerms = 2, kRowsForChains = 9;
inline constexpr bool kSeparatesChains = true;
using ChainTag = WordsTag;
using ChainVec = WordsVec;

HWY_INLINE void StoreFactors(const bf16* x, uint32_t* words) { StoreChainPairs(x, words); }
HWY_INLINE void SeparateChains(const bf16* row, ChainVec& even, ChainVec& odd) { LoadChainPairs(row, even, odd); }
HWY_INLINE FloatVec AddProducts(ChainVec a, ChainVec b, FloatVec sum) { return AddDots(a, b, sum); }

#else

// A word is a float. Weights are converted as they are multiplied: other execution units do that.
inline constexpr size_t kWordTerms = 1, kRowsForChains = 5;
inline constexpr bool kSeparatesChains = false;
using ChainTag = BitsTag;
using ChainVec = BitsVec;

HWY_INLINE void StoreFactors(const bf16* x, uint32_t* words) {
  for (size_t i = 0; i < kTile; i += hn::Lanes(FloatTag())) {
    hn::StoreU(hn::BitCast(ChainTag(), LoadFloats(x + i)), ChainTag(), words + i);
  }
}
HWY_INLINE void SeparateChains(const bf16* row, ChainVec& even, ChainVec& odd) {
  const ChainVec pairs = hn::LoadU(ChainTag(), reinterpret_cast<const uint32_t*>(row));
  even = hn::ShiftLeft<16>(pairs);
  odd = hn::And(pairs, hn::Set(ChainTag(), 0xFFFF0000u));
}
HWY_INLINE FloatVec AddProducts(ChainVec a, ChainVec b, FloatVec sum) {
  return hn::MulAdd(hn::BitCast(FloatTag(), a), hn::BitCast(FloatTag(), b), sum);
}

#endif

// Words of a row of activations in a tile, and terms of an output in a step: a word of each of its chains.
inline constexpr size_t kFactorWords = kTile / kWordTerms, kStepTerms = 2 * kWordTerms;

// Reads weights step by step, in their memory layout.
struct PackedChains {
  const bf16* row;
  size_t panel_stride;

  HWY_INLINE void Load(size_t panel, ChainVec& even, ChainVec& odd) const {
    SeparateChains(row + panel * panel_stride, even, odd);
  }
  HWY_INLINE void NextStep() { row += kStepTerms * kLanes; }
};

// The same as [steps][even, odd][kChainPanels][kLanes] words.
struct SeparatedChains {
  const uint32_t* words;

  HWY_INLINE void Load(size_t panel, ChainVec& even, ChainVec& odd) const {
    even = hn::Load(ChainTag(), words + panel * kLanes);
    odd = hn::Load(ChainTag(), words + (kChainPanels + panel) * kLanes);
  }
  HWY_INLINE void NextStep() { words += 2 * kChainPanels * kLanes; }
};

// The memory to prefetch meanwhile: the next rows of weights, some of them at each tile.
struct RowsAhead {
  const bf16* next;
  size_t panel_stride, rows, rows_per_tile;

  HWY_INLINE void Ask() {
    for (size_t i = HWY_MIN(rows_per_tile, rows); i != 0; --i, --rows, next += kPair<bf16> * kLanes) {
      PrefetchRows<kChainPanels>(next, panel_stride);
    }
  }
};

// A multiplication, and the buffer for its separated weights.
struct ChainProduct {
  const MatMulArgs<bf16>& args;
  RowsAhead& ahead;
  uint32_t* separated;  // kVectorTerms terms of kChainPanels panels

  HWY_INLINE PackedChains At(size_t panel, size_t k) const {
    const size_t stride = args.padded_k * kLanes;
    return {args.weights + panel * stride + k * kLanes, stride};
  }
};

// Begins with the terms [k, k_end) of some panels: an ExpandFunction.
inline void BeginChains(const void* chain_product, size_t panel, size_t k, size_t k_end) {
  const auto& product = *static_cast<const ChainProduct*>(chain_product);
  const bool is_last = k_end == product.args.padded_k;
  product.ahead.next = is_last ? product.At(panel + kChainPanels, 0).row : product.At(panel, k_end).row;
  product.ahead.rows = kVectorTerms / kPair<bf16>;
  if constexpr (!kSeparatesChains) return;
  PackedChains from = product.At(panel, k);
  for (uint32_t* to = product.separated; k < k_end; k += kStepTerms, from.NextStep()) {
    HWY_UNROLL(4)
    for (size_t p = 0; p < kChainPanels; ++p, to += kLanes) {
      ChainVec even, odd;
      from.Load(p, even, odd);
      hn::Store(even, ChainTag(), to);
      hn::Store(odd, ChainTag(), to + kChainPanels * kLanes);
    }
    to += kChainPanels * kLanes;
  }
}

// Adds the products of a tile to the sums in memory, [kChainRows][kChainPanels][kLanes], and advances to the next tile.
template <class Weights>
HWY_INLINE void AddChains(const uint32_t* factors, Weights& weights, float* sums) {
  Lanes even[kChainRows][kChainPanels], odd[kChainRows][kChainPanels];
  ClearSums(even);
  ClearSums(odd);
  for (size_t i = 0; i < kFactorWords; i += 2, weights.NextStep()) {
    ChainVec even_terms[kChainPanels], odd_terms[kChainPanels];
    HWY_UNROLL(4)
    for (size_t p = 0; p < kChainPanels; ++p) weights.Load(p, even_terms[p], odd_terms[p]);
    HWY_UNROLL(8)
    for (size_t r = 0; r < kChainRows; ++r) {
      const uint32_t* const factor = factors + r * kFactorWords + i;
      const ChainVec even_factor = hn::Set(ChainTag(), factor[0]), odd_factor = hn::Set(ChainTag(), factor[1]);
      HWY_UNROLL(4)
      for (size_t p = 0; p < kChainPanels; ++p) {
        even[r][p].part[0] = AddProducts(even_factor, even_terms[p], even[r][p].part[0]);
        odd[r][p].part[0] = AddProducts(odd_factor, odd_terms[p], odd[r][p].part[0]);
      }
    }
  }
  HWY_UNROLL(8)
  for (size_t r = 0; r < kChainRows; ++r) {
    HWY_UNROLL(4)
    for (size_t p = 0; p < kChainPanels; ++p, sums += kLanes) {
      StoreLanes(Add(LoadLanes(sums), Add(even[r][p], odd[r][p])), sums);
    }
  }
}

// Returns the weights of some panels from term k on, for which BeginChains was called.
HWY_INLINE auto WeightsOf(const ChainProduct& product, size_t panel, size_t k) {
  if constexpr (kSeparatesChains) {
    return SeparatedChains{product.separated};
  } else {
    return product.At(panel, k);
  }
}

// The sums of kChainRows rows and kChainPanels panels, after BeginChains: a SumFunction.
inline void SumChains(const void* chain_product, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const ChainProduct*>(chain_product);
  const MatMulArgs<bf16>& args = product.args;
  if (k == 0) hwy::ZeroBytes(sums, kChainRows * kChainPanels * kLanes * sizeof(float));
  // All of them before the first multiplication: words that were just written arrive late.
  alignas(kAlignment) uint32_t factors[kVectorTerms / kWordTerms * kChainRows];
  const bf16* x = args.input + PreparedIndex(args.rows, row, k, args.padded_k);
  const size_t step = RowBlockHeight(args.rows, row) * kTile;
  uint32_t* const end = factors + (k_end - k) / kWordTerms * kChainRows;
  for (uint32_t* to = factors; to < end; x += step) {
    HWY_UNROLL(8)
    for (size_t r = 0; r < kChainRows; ++r, to += kFactorWords) StoreFactors(x + r * kTile, to);
  }
  auto weights = WeightsOf(product, panel, k);
  for (const uint32_t* from = factors; from < end; from += kChainRows * kFactorWords) {
    product.ahead.Ask();
    AddChains(from, weights, sums);
  }
}

inline void MultiplyChains(const MatMulArgs<bf16>& args) {
  alignas(kAlignment) uint32_t separated[kSeparatesChains ? kVectorTerms / kWordTerms * kChainPanels * kLanes : 1];
  const size_t passes = hwy::DivCeil(HWY_MIN(args.row_end - args.row_begin, kVectorRows), kChainRows);
  RowsAhead ahead = {nullptr, args.padded_k * kLanes, 0, hwy::DivCeil(kTile / kPair<bf16>, passes)};
  const ChainProduct chains = {args, ahead, separated};
  VectorProduct product = VectorLoopsOf(args);
  product.args = &chains, product.expand = &BeginChains;
  product.few_limit = 0, product.many = {kChainRows, kChainPanels, &SumChains, true};
  MultiplyOnVectors(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET <= HWY_AVX3

#endif  // SKALD_KERNELS_MATMUL_CHAIN_BLOCK_INL_TOGGLE
