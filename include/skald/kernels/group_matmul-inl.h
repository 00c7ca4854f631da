// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix (arithmetic contract, R2). For each block of
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
#include "skald/kernels/activation-inl.h"
#include "skald/kernels/args.h"
#include "skald/kernels/codes-inl.h"
#include "skald/kernels/group_matmul_amx-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/outputs-inl.h"
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

// Asks for the pack after each of `packs`. With one row, memory is the limit.
template <class T, size_t kPanels>
HWY_INLINE void PrefetchPacks(const T* packs, size_t stride) {
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const char* const next = reinterpret_cast<const char*>(packs + p * stride + 1);
    HWY_UNROLL(32)
    for (size_t line = 0; line < sizeof(T); line += kAlignment) hwy::Prefetch(next + line);
  }
}

template <size_t kRows, size_t kPanels, class T>
HWY_INLINE void StoreTotals(const MatMulArgs<T>& args, size_t row, size_t panel,
                            const Lanes (&totals)[kRows][kPanels]) {
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreOutputs(args, row + r, panel + p, totals[r][p]);
  }
}

// The same of a panel of gates and its counterpart.
template <size_t kRows, class T>
HWY_INLINE void StoreGatedTotals(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes (&totals)[kRows][2]) {
  VisitGate(args.gate, [&](auto activation) {
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes outputs = GatedOutputs(activation, args, panel, totals[r][0], totals[r][1]);
      StoreGatedOutputs(args, row + r, panel, outputs, false);
    }
  });
}

// Computes kRows rows, all of one block of the input's, by kPanels panels: neighbours, or with kGated a panel of gates
// and its counterpart.
template <bool kGated, size_t kRows, size_t kPanels, class T>
void GroupTile(const MatMulArgs<T>& args, size_t row, size_t panel) {
  const size_t packs_per_panel = args.padded_k / kGroupPadding;
  const size_t stride = packs_per_panel * (kGated ? args.n / 2 / kLanes : 1);
  const T* const weights = args.weights + panel * packs_per_panel;
  Lanes totals[kRows][kPanels];
  ClearSums(totals);
  for (size_t block = 0; block < args.padded_k; block += kActivationBlock) {
    Lanes sums[kRows][kPanels];
    ClearSums(sums);
    const size_t end = HWY_MIN(block + kActivationBlock, args.padded_k);
    for (size_t k = block; k < end; k += kGroupPadding) {
      const T* const packs = weights + k / kGroupPadding;
      if constexpr (kRows == 1) PrefetchPacks<T, kPanels>(packs, stride);
      for (size_t group = 0; group < T::kGroups; ++group) {
        AddGroup<T>(args.input, row, k + group * T::kGroup, packs, stride, group, sums);
      }
    }
    const float* const scales = args.input.ScaleAt(row, block);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const FloatVec scale = hn::Set(FloatTag(), scales[r]);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) totals[r][p] = MulAdd(scale, sums[r][p], totals[r][p]);
    }
  }
  if constexpr (kGated) {
    StoreGatedTotals(args, row, panel, totals);
  } else {
    StoreTotals(args, row, panel, totals);
  }
}

template <bool kGated, size_t kPanels, class T>
HWY_INLINE void GroupPanels(const MatMulArgs<T>& args, size_t panel) {
  static_assert(kLanes % kTileRows == 0, "a tile of rows lies within one block of the input");
  size_t row = args.row_begin;
  if constexpr (kPanels <= kTilePanels) {
    for (; row + kTileRows <= args.row_end; row += kTileRows) GroupTile<kGated, kTileRows, kPanels>(args, row, panel);
  }
  for (; row < args.row_end; ++row) GroupTile<kGated, 1, kPanels>(args, row, panel);
}

// Outer loop: a few panels, which stay in L2 while all rows pass over them.
template <class T>
void MatMulGroupsOnVectors(const MatMulArgs<T>& args) {
  size_t panel = args.panel_begin;
  if (args.row_end - args.row_begin < kTileRows) {
    for (; panel + kRowPanels <= args.panel_end; panel += kRowPanels) GroupPanels<false, kRowPanels>(args, panel);
  } else {
    for (; panel + kTilePanels <= args.panel_end; panel += kTilePanels) GroupPanels<false, kTilePanels>(args, panel);
  }
  for (; panel < args.panel_end; ++panel) GroupPanels<false, 1>(args, panel);
}

template <class T>
void MatMulGroups(const MatMulArgs<T>& args) {
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if (args.rows > 1 && HaveAmx()) return MatMulGroupsAmx<false>(args);
#endif
  MatMulGroupsOnVectors(args);
}

template <class T>
void MatMulGroupsGated(const MatMulArgs<T>& args) {
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if (args.rows > 1 && HaveAmx()) return MatMulGroupsAmx<true>(args);
#endif
  for (size_t panel = args.panel_begin; panel < args.panel_end; ++panel) GroupPanels<true, 2>(args, panel);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_GROUP_MATMUL_INL_TOGGLE
