// SPDX-License-Identifier: Apache-2.0
//
// Copies activations to the input type of a matmul: rounded to bfloat16, unchanged, or quantised; rows padded with
// zeros to whole tiles. Zeros follow the last row, as far as a matmul reads.

#if defined(SKALD_KERNELS_MATMUL_PREPARE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_PREPARE_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_PREPARE_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_PREPARE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/matmul/quantize-inl.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Writes the first `size` floats, or kTile if that is fewer, rounded to T, and zeros up to kTile.
template <class T>
HWY_INLINE void PrepareTile(const float* input, size_t size, T* output) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  for (size_t i = 0; i < kTile; i += step) {
    StoreRounded(i < size ? LoadUpTo(input + i, size - i) : hn::Zero(tag), output + i);
  }
}

template <class T>
void Prepare(const PrepareArgs<T>& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    const float* const input = args.input + row * args.input_stride;
    if constexpr (kIsGrouped<T>) {
      QuantizeRow(input, args.cols, args.row_scale, args.output, row);
    } else {
      T* const output = args.output + PreparedIndex(args.rows, row, 0, PaddedK<T>(args.cols));
      const size_t height = RowBlockHeight(args.rows, row);
      for (size_t k = 0; k < args.cols; k += kTile) PrepareTile(input + k, args.cols - k, output + k * height);
    }
  }
  if (args.row_end != args.rows) return;
  if constexpr (kIsGrouped<T>) {
    for (size_t row = args.rows; row % args.output.height != 0; ++row) ClearRow(args.output, row);
  } else {
    ClearTail(args.output, args.rows, PaddedK<T>(args.cols));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_PREPARE_INL_TOGGLE
