// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix (arithmetic contract, R2). For each block of
// activations: sum = fma(float(dot), scale, sum), and sum = fma(float(sum of codes), offset, sum) for types with an
// offset, over the groups in order, from zero; then total = fma(sum, scale of the activations, total).

#if defined(SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/matmul/group_matmul_amx-inl.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the sum of the codes of one row over one group of T, the first of which is at `sums`.
template <class T>
HWY_INLINE int32_t SumOfCodes(const QuantizedRows& input, const int32_t* sums) {
  return T::kGroup == kActivationSum ? sums[0] : sums[0] + sums[input.height];
}

// Whether memory is asked for what comes next: for Q8A also for a single row, because its codes, scales and offsets are
// three streams.
template <class T, size_t kRows>
inline constexpr bool kAsksForPacks = kAsksAhead<kRows> || std::is_same_v<T, Q8A>;

// Asks for a part of the lines of one group, of which number `step` is being multiplied: all at once they would hold up
// the multiplication.
template <class T>
HWY_INLINE void PrefetchGroup(const std::byte* pack, size_t group, size_t step) {
  constexpr size_t kSteps = T::kGroup / 4, kPackLines = sizeof(T) / kAlignment;
  constexpr size_t kFirst = kPackLines / T::kGroups, kLines = kPackLines - (T::kGroups - 1) * kFirst;
  const std::byte* const lines = pack + group * kFirst * kAlignment;
  HWY_UNROLL(4)
  for (size_t line = step * kLines / kSteps; line < (step + 1) * kLines / kSteps; ++line) {
    hwy::Prefetch(lines + line * kAlignment);
  }
}

// Adds the terms of one group, beginning at term k, to the sums of its block. `packs` holds the group in the first
// panel; panels are `stride` packs apart. Memory is asked for what lies `ahead` bytes on.
template <class T, size_t kRows, size_t kPanels>
HWY_INLINE void AddGroup(const QuantizedRows& input, size_t row, size_t k, const T* packs, size_t stride, size_t group,
                         size_t ahead, Lanes (&sums)[kRows][kPanels]) {
  const int8_t* const x = input.CodesAt(row, k);
  const int32_t* const x_sums = input.SumAt(row, k);
  IntLanes dots[kRows][kPanels];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      dots[r][p] = BeginProducts<T>(kCodeBias<T> == 0 ? 0 : SumOfCodes<T>(input, x_sums + r));
    }
  }
  SKALD_UNROLL_CODES
  for (size_t j = 0; j < T::kGroup / 4; ++j) {
    IntLanes codes[kPanels];
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const T& pack = packs[p * stride];
      if constexpr (kAsksForPacks<T, kRows>)
        PrefetchGroup<T>(reinterpret_cast<const std::byte*>(&pack) + ahead, group, j);
      codes[p] = LoadCodes(pack, group, j);
    }
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const IntVec four = LoadFour(x + r * kActivationGroup + 4 * j);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) AddProducts<T>(codes[p], four, dots[r][p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const T& pack = packs[p * stride];
    const Lanes scales = LoadScales(pack.scales[group]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) sums[r][p] = MulAdd(FinishProducts<T>(dots[r][p]), scales, sums[r][p]);
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

// The sums of a tile of rows and panels: a SumFunction for each shape. All rows are of one block of the input's; k is a
// multiple of kActivationBlock.
template <class T>
struct GroupTileSum {
  template <size_t kRows, size_t kPanels>
  static void Add(const void* matmul_args, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
    const auto& args = *static_cast<const MatMulArgs<T>*>(matmul_args);
    const size_t stride = args.padded_k / kGroupPadding;
    const T* const weights = args.weights + panel * stride;
    Lanes totals[kRows][kPanels];
    k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
    while (k < k_end) {
      const float* const scales = args.input.ScaleAt(row, k);
      Lanes block_sums[kRows][kPanels];
      ClearSums(block_sums);
      for (const size_t end = HWY_MIN(k + kActivationBlock, k_end); k < end; k += kGroupPadding) {
        const T* const packs = weights + k / kGroupPadding;
        const size_t ahead = BytesAhead<kPanels, sizeof(T)>(k / kGroupPadding * sizeof(T), stride * sizeof(T));
        for (size_t group = 0; group < T::kGroups; ++group) {
          AddGroup<T>(args.input, row, k + group * T::kGroup, packs, stride, group, ahead, block_sums);
        }
      }
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) {
        const FloatVec scale = hn::Set(FloatTag(), scales[r]);
        HWY_UNROLL(16)
        for (size_t p = 0; p < kPanels; ++p) totals[r][p] = MulAdd(scale, block_sums[r][p], totals[r][p]);
      }
    }
    StoreTile(totals, sums);
  }
};

template <class T>
void GroupMatMul(const MatMulArgs<T>& args) {
  ClearPreparedOutput(args);
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  // With fewer rows, vectors are as fast as memory, and AMX is not: tiles that are mostly empty take as long as full
  // ones, and codes are widened for it.
  constexpr size_t kRowsForAmx = 9;
  static_assert(QuantizedRows::Height(kRowsForAmx) == kLanes, "a group of rows is one AMX tile");
  if (args.rows >= kRowsForAmx && HaveAmx()) return GroupMatMulAmx(args);
#endif
  MultiplyOnVectors(VectorProductOf<GroupTileSum<T>>(args));
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
