// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of activations by codes of floats (base/numbers/float_codes.h): the sums of a matrix of these floats,
// bit for bit (arithmetic contract, R1). For many rows, a part of a panel becomes floats once; a single row is
// multiplied by the packs directly.

#if defined(SKALD_KERNELS_MATMUL_CODED_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_CODED_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_CODED_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_CODED_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the numbers of F8's codes of a register of outputs. Shifted, their bits are those of binary16 numbers that
// are 2^8 times smaller, subnormal ones included.
HWY_INLINE FloatVec DividedNumbers(const uint8_t* codes) {
  const hn::Rebind<int16_t, FloatTag> shorts;
  const auto code = hn::PromoteTo(shorts, hn::LoadU(hn::Rebind<uint8_t, FloatTag>(), codes));
  const auto bits = hn::And(hn::ShiftRight<1>(hn::ShiftLeft<8>(code)), hn::Set(shorts, static_cast<int16_t>(0xBFFFu)));
  const auto halves = hn::BitCast(hn::Rebind<hwy::float16_t, FloatTag>(), bits);
  return hn::PromoteTo(FloatTag(), halves);
}

// Returns entries of a table of 16 floats.
HWY_INLINE FloatVec LookUpFloats(const float* table, IntVec codes) {
  const FloatTag tag;
#if HWY_HAVE_SCALABLE || HWY_TARGET_IS_SVE || HWY_TARGET == HWY_SCALAR
  return hn::GatherIndex(tag, table, codes);
#else
  if constexpr (kKnownParts == 1) {
    return hn::TableLookupLanes(hn::Load(tag, table), hn::IndicesFromVec(tag, codes));
  } else if constexpr (kKnownParts == 2) {
    return hn::TwoTablesLookupLanes(tag, hn::Load(tag, table), hn::Load(tag, table + 8),
                                    hn::IndicesFromVec(tag, codes));
  } else {
    const auto places = hn::IndicesFromVec(tag, hn::And(codes, hn::Set(IntTag(), 7)));
    const FloatVec low = hn::TwoTablesLookupLanes(tag, hn::Load(tag, table), hn::Load(tag, table + 4), places);
    const FloatVec high = hn::TwoTablesLookupLanes(tag, hn::Load(tag, table + 8), hn::Load(tag, table + 12), places);
    return hn::IfThenElse(hn::RebindMask(tag, hn::Gt(codes, hn::Set(IntTag(), 7))), high, low);
  }
#endif
}

// The weights of a pack at term k, of a register of outputs from `lane` on.
HWY_INLINE FloatVec WeightsAt(const F8& pack, size_t k, size_t lane) {
  const FloatVec scales = hn::Mul(hn::LoadU(FloatTag(), pack.scales + lane), hn::Set(FloatTag(), 256.0f));
  return hn::Mul(scales, DividedNumbers(pack.codes[k] + lane));
}
template <FourBitCoded T>
HWY_INLINE FloatVec WeightsAt(const T& pack, size_t k, size_t lane) {
  const IntVec both = hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<uint8_t, FloatTag>(), pack.codes[k / 2] + lane));
  const IntVec codes = k % 2 == 0 ? hn::And(both, hn::Set(IntTag(), 15)) : hn::ShiftRight<4>(both);
  return hn::Mul(hn::LoadU(FloatTag(), pack.scales + lane), LookUpFloats(T::kNumbers, codes));
}

// A multiplication, and kVectorTerms terms of a panel as floats.
template <class T>
struct CodedProduct {
  const MatMulArgs<T>& args;
  float* block;

  HWY_INLINE const T* At(size_t panel, size_t k) const {
    return args.weights + (panel * args.padded_k + k) / T::kTerms;
  }
  HWY_INLINE const float* InputAt(size_t row, size_t k) const {
    return args.input + PreparedIndex(args.rows, row, k, args.padded_k);
  }
};

// Prefetches a line of the memory that follows with each two terms of a pack.
template <class T>
HWY_INLINE void AskAhead(const T& pack, size_t j) {
  const std::byte* const line = reinterpret_cast<const std::byte*>(&pack) + j * kAlignment;
  if (j * kAlignment < sizeof(T)) hwy::Prefetch(line + kBytesAhead);
}

// Makes floats of the terms [k, k_end) of a panel: an ExpandFunction.
template <class T>
void ExpandCodes(const void* coded_product, size_t panel, size_t k, size_t k_end) {
  const auto& product = *static_cast<const CodedProduct<T>*>(coded_product);
  float* to = product.block;
  const T* pack = product.At(panel, k);
  for (; k < k_end; k += T::kTerms, ++pack) {
    for (size_t j = 0; j < T::kTerms / 2; ++j, to += 2 * kLanes) {
      AskAhead(*pack, j);
      for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(FloatTag())) {
        hn::Store(WeightsAt(*pack, 2 * j, lane), FloatTag(), to + lane);
        hn::Store(WeightsAt(*pack, 2 * j + 1, lane), FloatTag(), to + kLanes + lane);
      }
    }
  }
}

// The sums of kRows rows and the panel that ExpandCodes was called for: a SumFunction.
template <class T, size_t kRows>
void SumExpandedCodes(const void* coded_product, size_t row, size_t, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const CodedProduct<T>*>(coded_product);
  const size_t height = RowBlockHeight(product.args.rows, row);
  const float* input = product.InputAt(row, k);
  const float* block = product.block;
  Lanes totals[kRows][1];
  k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
  for (; k < k_end; k += kTile, block += kTile * kLanes, input += kTile * height) {
    AddTile(input, block, 0, static_cast<const float*>(nullptr), totals);
  }
  StoreTile(totals, sums);
}

// The sums of one row and kPanels panels, from the packs: a SumFunction.
template <class T, size_t kPanels>
void SumCodes(const void* coded_product, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const CodedProduct<T>*>(coded_product);
  const float* input = product.InputAt(row, k);
  const T* packs = product.At(panel, k);
  const size_t stride = product.args.padded_k / T::kTerms;
  Lanes totals[1][kPanels];
  k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
  for (; k < k_end; k += T::kTerms, ++packs) {
    for (size_t j = 0; j < T::kTerms / 2; ++j, input += 2) {
      const FloatVec first = hn::Set(FloatTag(), input[0]), second = hn::Set(FloatTag(), input[1]);
      HWY_UNROLL(4)
      for (size_t p = 0; p < kPanels; ++p) {
        const T& pack = packs[p * stride];
        AskAhead(pack, j);
        const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
        SKALD_UNROLL_PARTS
        for (size_t i = 0; i < parts; ++i) {
          const size_t lane = i * hn::Lanes(FloatTag());
          const FloatVec sum = hn::MulAdd(first, WeightsAt(pack, 2 * j, lane), Part(totals[0][p], i));
          SetPart(totals[0][p], i, hn::MulAdd(second, WeightsAt(pack, 2 * j + 1, lane), sum));
        }
      }
    }
  }
  StoreTile(totals, sums);
}

template <FloatCoded T>
void CodedMatMul(const MatMulArgs<T>& args) {
  ClearPreparedOutput(args);
  alignas(kAlignment) float block[kVectorTerms * kLanes];
  const CodedProduct<T> coded = {args, block};
  VectorProduct product = VectorLoopsOf(args);
  product.args = &coded, product.by_block = true;
  product.expand = &ExpandCodes<T>;
  product.one = {1, kRowStreams, &SumCodes<T, kRowStreams>}, product.one_panel = {1, 1, &SumCodes<T, 1>};
  product.few_limit = 0, product.many = {kTileRows, 1, &SumExpandedCodes<T, kTileRows>, true};
  MultiplyOnVectors(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_CODED_MATMUL_INL_TOGGLE
