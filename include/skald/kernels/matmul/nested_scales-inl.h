// SPDX-License-Identifier: Apache-2.0
//
// Sums over groups with scales of scales (arithmetic contract, R2 with scales of scales): integers up to the end of a
// block, which is one pack.

#if defined(SKALD_KERNELS_MATMUL_NESTED_SCALES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_NESTED_SCALES_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_NESTED_SCALES_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_NESTED_SCALES_INL_TOGGLE
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/matmul/group_products-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the numbers that multiply a scale or minimum.
template <class T>
HWY_INLINE IntLanes LoadNumbers(const T* numbers) {
  IntLanes result;
  const size_t parts = NumParts();
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const auto part = hn::LoadU(hn::Rebind<T, IntTag>(), numbers + i * hn::Lanes(IntTag()));
    SetPart(result, i, hn::PromoteTo(IntTag(), part));
  }
  return result;
}

// Returns pairs of 16-bit numbers: one of `low` and one of `high` in each lane.
HWY_INLINE IntLanes PairsOf(const IntLanes& low, const IntLanes& high) {
  IntLanes result;
  const size_t parts = NumParts();
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const IntVec low_half = hn::And(Part(low, i), hn::Set(IntTag(), 0xFFFF));
    SetPart(result, i, hn::Or(low_half, hn::ShiftLeft<16>(Part(high, i))));
  }
  return result;
}

// Returns sum + a * b.
HWY_INLINE IntVec MulAddIntegers(IntVec a, IntVec b, IntVec sum) { return hn::Add(sum, hn::Mul(a, b)); }

// Returns sum + the products of both 16-bit numbers in each lane. Only x86 has them in order.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
HWY_INLINE IntVec MulAddPairs(IntVec a, IntVec b, IntVec sum) {
  const hn::Repartition<int16_t, IntTag> shorts;
  IntVec unused = hn::Zero(IntTag());
  return hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(shorts, a), hn::BitCast(shorts, b), sum, unused);
}
#else
HWY_INLINE IntVec MulAddPairs(IntVec, IntVec, IntVec sum) { return sum; }
#endif

// Adds the terms of one group, beginning at term k, to the sums of its block.
template <NestedScales T, size_t kRows, size_t kPanels>
HWY_INLINE void AddIntegerGroup(const int8_t* x, const PackTile<T>& packs, size_t group,
                                IntLanes (&sums)[kRows][kPanels]) {
  IntLanes scales[kPanels];
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    scales[p] = LoadNumbers(packs.At(p).scales[group]);
    if constexpr (kSumsInShorts<T>) scales[p] = PairsOf(scales[p], scales[p]);
  }
  // So many products fit into 16 bits: 2 * 127 * 2^kCodeBits is what one row of codes adds to each number.
  constexpr size_t kRowsOfCodes = T::kGroup / 4, kFitting = kSumsInShorts<T> ? 128u >> T::kCodeBits : kRowsOfCodes;
  constexpr size_t kStep = HWY_MIN(kRowsOfCodes, kFitting);
  SKALD_UNROLL_CODES
  for (size_t j = 0; j < kRowsOfCodes; j += kStep) {
    IntLanes products[kRows][kPanels];
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) products[r][p] = SetIntLanes(0);
    }
    AddCodes(x, packs, group, j, j + kStep, products);
    const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) {
        SKALD_UNROLL_PARTS
        for (size_t i = 0; i < parts; ++i) {
          const IntVec product = Part(products[r][p], i), scale = Part(scales[p], i), sum = Part(sums[r][p], i);
          SetPart(sums[r][p], i,
                  kSumsInShorts<T> ? MulAddPairs(product, scale, sum) : MulAddIntegers(product, scale, sum));
        }
      }
    }
  }
}

// The numbers that the sums of activations' codes are multiplied by: those of the minima, or, where codes count from
// below zero, the scales'.
template <NestedScales T>
HWY_INLINE const auto& NumbersOfSums(const T& pack) {
  if constexpr (T::kHasMinima)
    return pack.minima;
  else
    return pack.scales;
}

// The numbers for two neighbouring sums of kActivationSum codes: pairs of 16 bits where those are multiplied.
struct NumbersOfTwo {
  IntLanes first, second;
};
template <NestedScales T>
HWY_INLINE NumbersOfTwo LoadNumbersOfTwo(const T& pack, size_t sum) {
  const auto& numbers = NumbersOfSums(pack);
  const size_t per_group = T::kGroup / kActivationSum;
  NumbersOfTwo two = {LoadNumbers(numbers[sum / per_group]), LoadNumbers(numbers[(sum + 1) / per_group])};
  if constexpr (kMultipliesShorts) two.first = PairsOf(two.first, two.second);
  return two;
}

// Returns sum + the two numbers times the two sums of codes.
HWY_INLINE IntVec AddTwoSums(IntVec first, IntVec second, const int16_t* code_sums, IntVec sum) {
  if constexpr (kMultipliesShorts) {
    int32_t both;
    std::memcpy(&both, code_sums, sizeof(both));
    return MulAddPairs(first, hn::Set(IntTag(), both), sum);
  } else {
    sum = MulAddIntegers(first, hn::Set(IntTag(), code_sums[0]), sum);
    return MulAddIntegers(second, hn::Set(IntTag(), code_sums[1]), sum);
  }
}

// Returns sum + the sum of a block: `dots` times the scale, and `sums` of NumbersOfSums times the minimum.
template <NestedScales T>
HWY_INLINE FloatVec FinishBlock(IntVec dots, IntVec sums, FloatVec scale, FloatVec minimum, FloatVec sum) {
  if constexpr (T::kHasMinima) {
    sum = hn::MulAdd(hn::ConvertTo(FloatTag(), dots), scale, sum);
    return hn::NegMulAdd(hn::ConvertTo(FloatTag(), sums), minimum, sum);
  } else {
    static_assert(std::has_single_bit(unsigned{T::kZero}));
    const IntVec above_zero = hn::Sub(dots, hn::ShiftLeft<std::countr_zero(unsigned{T::kZero})>(sums));
    return hn::MulAdd(hn::ConvertTo(FloatTag(), above_zero), scale, sum);
  }
}

template <NestedScales T>
HWY_INLINE Lanes LoadMinimum(const T& pack) {
  if constexpr (T::kHasMinima)
    return LoadScales(pack.minimum);
  else
    return ZeroLanes();
}

// Adds the terms of one pack, beginning at term k.
template <NestedScales T, size_t kRows, size_t kPanels>
HWY_INLINE void AddPack(const QuantizedRows& input, size_t row, size_t k, const PackTile<T>& packs,
                        Lanes (&sums)[kRows][kPanels]) {
  static_assert(T::kTerms == kActivationBlock, "a pack is a block of activations");
  IntLanes dots[kRows][kPanels], code_sums[kRows][kPanels];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) dots[r][p] = code_sums[r][p] = SetIntLanes(0);
  }
  for (size_t group = 0; group < T::kGroups; ++group) {
    AddIntegerGroup(input.CodesAt(row, k + group * T::kGroup), packs, group, dots);
  }
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  for (size_t i = 0; i < T::kTerms / kActivationSum; i += 2) {
    const int16_t* const x_sums = input.SumAt(row, k + i * kActivationSum);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const NumbersOfTwo two = LoadNumbersOfTwo(packs.At(p), i);
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) {
        SKALD_UNROLL_PARTS
        for (size_t part = 0; part < parts; ++part) {
          SetPart(
              code_sums[r][p], part,
              AddTwoSums(Part(two.first, part), Part(two.second, part), x_sums + 2 * r, Part(code_sums[r][p], part)));
        }
      }
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const Lanes scale = LoadScales(packs.At(p).scale), minimum = LoadMinimum(packs.At(p));
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      SKALD_UNROLL_PARTS
      for (size_t i = 0; i < parts; ++i) {
        SetPart(sums[r][p], i,
                FinishBlock<T>(Part(dots[r][p], i), Part(code_sums[r][p], i), Part(scale, i), Part(minimum, i),
                               Part(sums[r][p], i)));
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_NESTED_SCALES_INL_TOGGLE
