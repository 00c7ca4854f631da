// SPDX-License-Identifier: Apache-2.0
//
// Sums over groups with scales and offsets of their own (arithmetic contract, R2): of Q8_0, Q4_0 and Q8A.

#if defined(SKALD_KERNELS_MATMUL_FLOAT_SCALES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_FLOAT_SCALES_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_FLOAT_SCALES_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_FLOAT_SCALES_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/matmul/group_products-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the sum of the codes of one row over one group of T, of which `sums` has the parts.
template <class T>
HWY_INLINE int32_t SumOfCodes(const int16_t* sums) {
  return T::kGroup == kActivationSum ? sums[0] : sums[0] + sums[1];
}

// Adds the terms of one group, beginning at term k, to the sums of its block.
template <class T, size_t kRows, size_t kPanels>
HWY_INLINE void AddGroup(const QuantizedRows& input, size_t row, size_t k, const PackTile<T>& packs, size_t group,
                         Lanes (&sums)[kRows][kPanels]) {
  const int16_t* const x_sums = input.SumAt(row, k);
  IntLanes dots[kRows][kPanels];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      dots[r][p] = BeginProducts<T>(kCodeBias<T> == 0 ? 0 : SumOfCodes<T>(x_sums + 2 * r));
    }
  }
  AddCodes(input.CodesAt(row, k), packs, group, 0, T::kGroup / 4, dots);
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const Lanes scales = LoadScales(packs.At(p).scales[group]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) sums[r][p] = MulAdd(FinishProducts<T>(dots[r][p]), scales, sums[r][p]);
    if constexpr (std::is_same_v<T, Q8A>) {
      const Lanes offsets = LoadLanes(packs.At(p).offsets[group]);
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) {
        const auto sum = static_cast<float>(SumOfCodes<T>(x_sums + 2 * r));
        sums[r][p] = MulAdd(hn::Set(FloatTag(), sum), offsets, sums[r][p]);
      }
    }
  }
}

// Adds the terms of one pack, beginning at term k.
template <class T, size_t kRows, size_t kPanels>
HWY_INLINE void AddPack(const QuantizedRows& input, size_t row, size_t k, const PackTile<T>& packs,
                        Lanes (&sums)[kRows][kPanels]) {
  for (size_t group = 0; group < T::kGroups; ++group) AddGroup(input, row, k + group * T::kGroup, packs, group, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_FLOAT_SCALES_INL_TOGGLE
