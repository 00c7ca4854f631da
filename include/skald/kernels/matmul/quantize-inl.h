// SPDX-License-Identifier: Apache-2.0
//
// Quantises activations for a group-quantised matrix (arithmetic contract, R2): `scaled_terms` of them share a scale,
// as in kernels/simd/int8-inl.h, or all of a row.

#if defined(SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/simd/int8-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The scale that all terms of a row share, as in BitNet: that of 1e-5 if none is larger.
inline CodeScale ScaleOfRow(const float* values, size_t size) {
  const size_t whole = size / kLanes * kLanes;
  alignas(kAlignment) float last[kLanes] = {};
  for (size_t i = whole; i < size; ++i) last[i - whole] = values[i];
  const float first = LargestMagnitude(values, whole), rest = LargestMagnitude(last, kLanes);
  if (std::isnan(first + rest)) return {first + rest, 0.0f};
  const float largest = HWY_MAX(HWY_MAX(first, rest), 1e-5f);
  return {largest / 127.0f, 127.0f / largest};
}

// Quantises `size` values, a multiple of kActivationGroup, by the scale of term k of a row.
inline void QuantizeTerms(const float* values, size_t size, CodeScale scale, const QuantizedRows& output, size_t row,
                          size_t k) {
  *output.ScaleAt(row, k) = scale.scale;
  int8_t* const codes = output.CodesAt(row, k);
  for (size_t i = 0; i < size; i += kActivationSum) {
    int8_t* const to = codes + i / kActivationGroup * output.height * kActivationGroup + i % kActivationGroup;
    int16_t& sum = *output.SumAt(row, k + i);
    if (scale.inverse != 0.0f) {
      sum = static_cast<int16_t>(hn::ReduceSum(IntTag(), StoreCodes(values + i, scale.inverse, to)));
    } else {
      hwy::ZeroBytes<kActivationSum>(to);
      sum = 0;
    }
  }
}

inline void QuantizeRow(const float* input, size_t cols, bool row_scale, const QuantizedRows& output, size_t row) {
  const size_t step = output.scaled_terms;
  const CodeScale of_row = row_scale ? ScaleOfRow(input, cols) : CodeScale();
  const auto scale_of = [&](const float* values, size_t size) {
    return row_scale ? of_row : CodeScale::Of(values, size);
  };
  for (size_t k = 0; k < output.padded_k; k += step) {
    if (k + step <= cols) {
      QuantizeTerms(input + k, step, scale_of(input + k, step), output, row, k);
      continue;
    }
    alignas(kAlignment) float padded[kActivationBlock] = {};
    for (size_t i = k; i < cols; ++i) padded[i - k] = input[i];
    const size_t size = HWY_MIN(output.padded_k - k, step);
    QuantizeTerms(padded, size, scale_of(padded, size), output, row, k);
  }
}

// Writes a row of zeros.
inline void ClearRow(const QuantizedRows& output, size_t row) {
  const size_t height = output.height, padded_k = output.padded_k;
  int8_t* const codes = output.CodesAt(row, 0);
  for (size_t k = 0; k < padded_k; k += kActivationGroup) hwy::ZeroBytes<kActivationGroup>(codes + k * height);
  for (size_t k = 0; k < padded_k; k += kActivationSum) *output.SumAt(row, k) = 0;
  for (size_t k = 0; k < padded_k; k += output.scaled_terms) *output.ScaleAt(row, k) = 0.0f;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_QUANTIZE_INL_TOGGLE
