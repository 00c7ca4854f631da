// SPDX-License-Identifier: Apache-2.0
//
// Quantises activations for a group-quantised matrix (arithmetic contract, R2): for each block, with m the largest
// magnitude in it, scale = m / 127 and code = round(x * (127 / m)), to nearest, ties to even. A block of magnitudes
// below 2^-100 counts as zero, because 127 / m could overflow; one that holds an infinity or NaN has the scale NaN.

#if defined(SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the largest magnitude of `size` floats, a multiple of kGroupPadding, or NaN if one is not finite. Compares
// bits: as integers, NaN is greater than infinity, and that greater than all numbers.
HWY_INLINE float LargestMagnitude(const float* values, size_t size) {
  const IntTag tag;
  IntVec largest = hn::Zero(tag);
  for (size_t i = 0; i < size; i += hn::Lanes(tag)) {
    const IntVec bits = hn::BitCast(tag, hn::LoadU(FloatTag(), values + i));
    largest = hn::Max(largest, hn::And(bits, hn::Set(tag, 0x7FFFFFFF)));
  }
  const int32_t bits = hn::ReduceMax(tag, largest);
  return bits < 0x7F800000 ? std::bit_cast<float>(bits) : std::numeric_limits<float>::quiet_NaN();
}

// Writes 16 codes and returns their sum.
HWY_INLINE int16_t QuantizeSum(const float* values, float inverse, int8_t* codes) {
  const hn::Rebind<int8_t, IntTag> bytes;
  IntVec sum = hn::Zero(IntTag());
  for (size_t i = 0; i < kActivationSum; i += hn::Lanes(FloatTag())) {
    const FloatVec scaled = hn::Mul(hn::LoadU(FloatTag(), values + i), hn::Set(FloatTag(), inverse));
    const IntVec rounded = hn::NearestInt(scaled);
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, codes + i);
    sum = hn::Add(sum, rounded);
  }
  return static_cast<int16_t>(hn::ReduceSum(IntTag(), sum));
}

// Quantises `size` values, a multiple of kGroupPadding, that begin at term k of a row.
inline void QuantizeBlock(const float* values, size_t size, const QuantizedRows& output, size_t row, size_t k) {
  const float largest = LargestMagnitude(values, size);
  const bool counts = largest >= 0x1p-100f;
  *output.ScaleAt(row, k) = counts ? largest / 127.0f : 0.0f * largest;
  int8_t* const codes = output.CodesAt(row, k);
  for (size_t i = 0; i < size; i += kActivationSum) {
    int8_t* const to = codes + i / kActivationGroup * output.height * kActivationGroup + i % kActivationGroup;
    int16_t& sum = *output.SumAt(row, k + i);
    if (counts) {
      sum = QuantizeSum(values + i, 127.0f / largest, to);
    } else {
      hwy::ZeroBytes<kActivationSum>(to);
      sum = 0;
    }
  }
}

inline void QuantizeRow(const float* input, size_t cols, const QuantizedRows& output, size_t row) {
  for (size_t k = 0; k < output.padded_k; k += kActivationBlock) {
    if (k + kActivationBlock <= cols) {
      QuantizeBlock(input + k, kActivationBlock, output, row, k);
      continue;
    }
    alignas(kAlignment) float padded[kActivationBlock] = {};
    for (size_t i = k; i < cols; ++i) padded[i - k] = input[i];
    QuantizeBlock(padded, HWY_MIN(output.padded_k - k, kActivationBlock), output, row, k);
  }
}

// Writes a row of zeros.
inline void ClearRow(const QuantizedRows& output, size_t row) {
  const size_t height = output.height, padded_k = output.padded_k;
  int8_t* const codes = output.CodesAt(row, 0);
  for (size_t k = 0; k < padded_k; k += kActivationGroup) hwy::ZeroBytes<kActivationGroup>(codes + k * height);
  for (size_t k = 0; k < padded_k; k += kActivationSum) *output.SumAt(row, k) = 0;
  for (size_t k = 0; k < padded_k; k += kActivationBlock) *output.ScaleAt(row, k) = 0.0f;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
