// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm. The sum of squares follows R3: element i in lane i mod 16, then a fixed tree.

#if defined(SKALD_KERNELS_ROWS_NORM_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_NORM_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_NORM_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_NORM_INL_TOGGLE
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the sum of squares of `size` floats.
HWY_INLINE float SumOfSquares(const float* input, size_t size) {
  Lanes sum = ZeroLanes();
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Lanes x = LoadLanes(input + i);
    sum = MulAdd(x, x, sum);
  }
  if (i < size) {
    const Lanes x = LoadLanes(input + i, size - i);
    sum = MulAdd(x, x, sum);
  }
  return TreeSum(sum);
}

HWY_INLINE void NormRow(const float* input, const float* weight, size_t size, float epsilon, float* output) {
  const FloatTag tag;
  const float mean = SumOfSquares(input, size) / static_cast<float>(size);
  const FloatVec scale = hn::Set(tag, 1.0f / std::sqrt(mean + epsilon));
  const size_t step = hn::Lanes(tag);
  size_t i = 0;
  for (; i + step <= size; i += step) {
    const FloatVec scaled = hn::Mul(hn::LoadU(tag, input + i), scale);
    hn::StoreU(hn::Mul(scaled, hn::LoadU(tag, weight + i)), tag, output + i);
  }
  if (i < size) {
    const FloatVec scaled = hn::Mul(hn::LoadN(tag, input + i, size - i), scale);
    hn::StoreN(hn::Mul(scaled, hn::LoadN(tag, weight + i, size - i)), tag, output + i, size - i);
  }
}

inline void Norm(const NormArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    NormRow(args.input + row * args.input_stride, args.weight, args.cols, args.epsilon,
            args.output + row * args.output_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_NORM_INL_TOGGLE
