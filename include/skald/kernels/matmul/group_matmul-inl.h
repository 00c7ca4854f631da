// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix (arithmetic contract, R2): for each block of
// activations a sum from zero, then total = fma(sum, scale of the activations, total).

#if defined(SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/float_scales-inl.h"
#include "skald/kernels/matmul/group_matmul_amx-inl.h"
#include "skald/kernels/matmul/group_products-inl.h"
#include "skald/kernels/matmul/nested_scales-inl.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The sums of a tile of rows and panels: a SumFunction for each shape. All rows are of one block of the input's; k is a
// multiple of kActivationBlock.
template <class T>
struct GroupTileSum {
  // Integers of a block need no register while a group is multiplied, so that AVX2 has room for more rows.
  static constexpr size_t kManyRows = NumParts() == 2 && NestedScales<T> ? 4 : kTileRows;

  template <size_t kRows, size_t kPanels>
  static void Add(const void* matmul_args, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
    const auto& args = *static_cast<const MatMulArgs<T>*>(matmul_args);
    const size_t stride = args.padded_k / T::kTerms;
    const T* const weights = args.weights + panel * stride;
    Lanes totals[kRows][kPanels];
    k == 0 ? ClearSums(totals) : LoadTile(sums, totals);
    while (k < k_end) {
      const float* const scales = args.input.ScaleAt(row, k);
      Lanes block_sums[kRows][kPanels];
      ClearSums(block_sums);
      for (const size_t end = HWY_MIN(k + kActivationBlock, k_end); k < end; k += T::kTerms) {
        const size_t at = k / T::kTerms, ahead = BytesAhead<kPanels, sizeof(T)>(at * sizeof(T), stride * sizeof(T));
        AddPack(args.input, row, k, PackTile<T>{weights + at, stride, ahead}, block_sums);
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
