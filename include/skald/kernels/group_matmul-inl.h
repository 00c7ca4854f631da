// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of quantised activations and a group-quantised matrix (arithmetic contract, R2). For each block of
// activations: sum = fma(float(dot), scale, sum), and sum = fma(float(sum of codes), offset, sum) for types with an
// offset, over the groups in order, from zero; then total = fma(sum, scale of the activations, total).

#if defined(SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/codes-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the sum of the codes of one row over one group of T, the first of which is at `sums`.
template <class T>
HWY_INLINE int32_t SumOfCodes(const QuantizedRows& input, const int32_t* sums) {
  return T::kGroup == kActivationSum ? sums[0] : sums[0] + sums[input.height];
}

// Adds the terms of one group, beginning at term k, to the sums of its block. `packs` holds the group in the first
// panel; panels are `stride` packs apart.
template <class T, size_t kRows, size_t kPanels>
HWY_INLINE void AddGroup(const QuantizedRows& input, size_t row, size_t k, const T* packs, size_t stride, size_t group,
                         Lanes (&sums)[kRows][kPanels]) {
  const int8_t* const x = input.CodesAt(row, k);
  const int32_t* const x_sums = input.SumAt(row, k);
  IntLanes dots[kRows][kPanels];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      dots[r][p] = SetIntLanes(kCodeBias<T> == 0 ? 0 : -kCodeBias<T> * SumOfCodes<T>(input, x_sums + r));
    }
  }
  HWY_UNROLL(16)
  for (size_t j = 0; j < T::kGroup / 4; ++j) {
    IntLanes codes[kPanels];
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) codes[p] = LoadCodes(packs[p * stride], group, j);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const IntVec four = LoadFour(x + r * kActivationGroup + 4 * j);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) AddProducts(codes[p], four, dots[r][p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const T& pack = packs[p * stride];
    const Lanes scales = LoadScales(pack.scales[group]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) sums[r][p] = MulAdd(ToFloats(dots[r][p]), scales, sums[r][p]);
    if constexpr (std::is_same_v<T, Q8A>) {
      const Lanes offsets = LoadLanes(pack.offsets[group]);
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) {
        const auto sum = static_cast<float>(SumOfCodes<T>(input, x_sums + r));
        sums[r][p] = MulAdd(hn::Set(FloatTag(), sum), offsets, sums[r][p]);
      }
    }
  }
}

// Asks for the packs that come some way after number `i` of each of kPanels panels, or of the panels that follow these.
// With few rows, memory is the limit: enough bytes must be on their way to fill the time that it takes to answer.
template <class T, size_t kPanels>
HWY_INLINE void PrefetchPacks(const T* weights, size_t i, size_t packs_per_panel) {
  constexpr size_t kBytesAhead = 4096, kStep = kPanels * sizeof(T), kAhead = (kBytesAhead + kStep - 1) / kStep;
  const size_t next = i + kAhead < packs_per_panel ? i + kAhead : i + kAhead + (kPanels - 1) * packs_per_panel;
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const char* const pack = reinterpret_cast<const char*>(weights + p * packs_per_panel + next);
    HWY_UNROLL(32)
    for (size_t line = 0; line < sizeof(T); line += kAlignment) hwy::Prefetch(pack + line);
  }
}

// Writes the sums of kRows rows, all of one block of the input's, by kPanels panels to `sums`,
// [kRows][kPanels][kLanes].
template <size_t kRows, size_t kPanels, class T>
  requires kIsGrouped<T>
HWY_NOINLINE void SumTile(const MatMulArgs<T>& args, size_t row, size_t panel, float* sums) {
  const size_t stride = args.padded_k / kGroupPadding;
  const T* const weights = args.weights + panel * stride;
  Lanes totals[kRows][kPanels];
  ClearSums(totals);
  for (size_t block = 0; block < args.padded_k; block += kActivationBlock) {
    Lanes block_sums[kRows][kPanels];
    ClearSums(block_sums);
    const size_t end = HWY_MIN(block + kActivationBlock, args.padded_k);
    for (size_t k = block; k < end; k += kGroupPadding) {
      const T* const packs = weights + k / kGroupPadding;
      PrefetchPacks<T, kPanels>(weights, k / kGroupPadding, stride);
      for (size_t group = 0; group < T::kGroups; ++group) {
        AddGroup<T>(args.input, row, k + group * T::kGroup, packs, stride, group, block_sums);
      }
    }
    const float* const scales = args.input.ScaleAt(row, block);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const FloatVec scale = hn::Set(FloatTag(), scales[r]);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) totals[r][p] = MulAdd(scale, block_sums[r][p], totals[r][p]);
    }
  }
  StoreTile(totals, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE
