// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm and LayerNorm. Their sums follow R3: element i in lane i mod 16, then a fixed tree. LayerNorm adds twice: the
// elements for the mean, then the squares of their deviations from it.

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

template <bool kWeighted>
HWY_INLINE void NormRow(const float* input, const float* weight, size_t size, float epsilon, float* output) {
  const FloatTag tag;
  const float mean = SumOfSquares(input, size) / static_cast<float>(size);
  const FloatVec scale = hn::Set(tag, 1.0f / std::sqrt(mean + epsilon));
  const size_t step = hn::Lanes(tag);
  size_t i = 0;
  for (; i + step <= size; i += step) {
    const FloatVec scaled = hn::Mul(hn::LoadU(tag, input + i), scale);
    hn::StoreU(kWeighted ? hn::Mul(scaled, hn::LoadU(tag, weight + i)) : scaled, tag, output + i);
  }
  if (i < size) {
    const FloatVec scaled = hn::Mul(hn::LoadN(tag, input + i, size - i), scale);
    hn::StoreN(kWeighted ? hn::Mul(scaled, hn::LoadN(tag, weight + i, size - i)) : scaled, tag, output + i, size - i);
  }
}

inline void Norm(const NormArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    const auto norm = args.weight == nullptr ? &NormRow<false> : &NormRow<true>;
    norm(args.input + row * args.input_stride, args.weight, args.cols, args.epsilon,
         args.output + row * args.output_stride);
  }
}

// Returns the sum of `size` floats.
HWY_INLINE float Sum(const float* input, size_t size) {
  Lanes sum = ZeroLanes();
  for (size_t i = 0; i < size; i += kLanes) sum = Add(sum, LoadLanes(input + i, HWY_MIN(kLanes, size - i)));
  return TreeSum(sum);
}

// Returns the sum of (input - mean)^2.
HWY_INLINE float SumOfSquaredDeviations(const float* input, size_t size, float mean) {
  const FloatVec center = hn::Set(FloatTag(), mean);
  Lanes sum = ZeroLanes();
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Lanes deviation = Sub(LoadLanes(input + i), center);
    sum = MulAdd(deviation, deviation, sum);
  }
  if (i < size) {
    alignas(kAlignment) float rest[kLanes];  // padded with the mean, whose deviation is zero
    for (size_t lane = 0; lane < kLanes; ++lane) rest[lane] = i + lane < size ? input[i + lane] : mean;
    const Lanes deviation = Sub(LoadLanes(rest), center);
    sum = MulAdd(deviation, deviation, sum);
  }
  return TreeSum(sum);
}

HWY_INLINE void LayerNormRow(const LayerNormArgs& args, const float* input, float* output) {
  const FloatTag tag;
  const auto size = static_cast<float>(args.cols);
  const float mean = Sum(input, args.cols) / size;
  const float variance = SumOfSquaredDeviations(input, args.cols, mean) / size;
  const FloatVec center = hn::Set(tag, mean), scale = hn::Set(tag, 1.0f / std::sqrt(variance + args.epsilon));
  for (size_t i = 0; i < args.cols; i += hn::Lanes(tag)) {
    const size_t count = args.cols - i;
    FloatVec y = hn::Mul(hn::Sub(LoadUpTo(input + i, count), center), scale);
    if (args.bias != nullptr) {
      y = hn::MulAdd(y, LoadUpTo(args.weight + i, count), LoadUpTo(args.bias + i, count));
    } else if (args.weight != nullptr) {
      y = hn::Mul(y, LoadUpTo(args.weight + i, count));
    }
    StoreUpTo(y, output + i, count);
  }
}

inline void LayerNorm(const LayerNormArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    LayerNormRow(args, args.input + row * args.input_stride, args.output + row * args.output_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_NORM_INL_TOGGLE
