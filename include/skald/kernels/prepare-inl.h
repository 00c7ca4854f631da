// SPDX-License-Identifier: Apache-2.0
//
// Copies activations to the type that a matmul multiplies by: rounded to bfloat16 or unchanged, rows padded with
// zeros to whole tiles.

#if defined(SKALD_KERNELS_PREPARE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_PREPARE_INL_TOGGLE
#undef SKALD_KERNELS_PREPARE_INL_TOGGLE
#else
#define SKALD_KERNELS_PREPARE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/bf16-inl.h"
#include "skald/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Writes `size` floats, rounded to T, and zeros up to the next multiple of kTile.
template <class T>
HWY_INLINE void PrepareRow(const float* input, size_t size, T* output) {
  const size_t step = hn::Lanes(FloatTag());
  size_t i = 0;
  for (; i + step <= size; i += step) StoreRounded(hn::LoadU(FloatTag(), input + i), output + i);
  if (i < size) {
    StoreRounded(hn::LoadN(FloatTag(), input + i, size - i), output + i);
    i += step;
  }
  for (; i < RoundUp(size, kTile); i += step) StoreRounded(hn::Zero(FloatTag()), output + i);
}

template <class T>
void Prepare(const PrepareArgs<T>& args) {
  const size_t padded = RoundUp(args.cols, kTile);
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    PrepareRow(args.input + row * args.input_stride, args.cols, args.output + row * padded);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_PREPARE_INL_TOGGLE
