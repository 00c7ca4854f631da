// SPDX-License-Identifier: Apache-2.0
//
// Causal depthwise convolution over time. One output is one chain of fused multiply-adds: it begins with the bias and
// goes over the taps from the oldest to the row itself. Inputs before the first token of a sequence are zeros that
// take part in the chain, so no bit depends on where a sequence was cut into runs.

#if defined(SKALD_KERNELS_RECURRENT_CONV_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_CONV_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_CONV_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_CONV_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The taps of one row: the first `old_taps` multiply rows of the state, the others rows of the input.
struct ConvRow {
  const float* old;  // of tap 0, the next taps `channels` floats apart; null: zeros
  size_t old_taps;
  const float* input;  // of tap `old_taps`, the next taps `input_stride` floats apart
};

HWY_INLINE ConvRow TapsOf(const ConvArgs& args, const RecurrentRun& run, size_t row) {
  const size_t new_taps = HWY_MIN(row - run.row_begin, args.taps - 1);  // besides that of the row itself
  const size_t old_taps = args.taps - 1 - new_taps;
  const float* state = StateIn(run.input, args.state_offset);
  return {.old = state ? state + new_taps * args.channels : nullptr,
          .old_taps = old_taps,
          .input = args.input + (row - new_taps) * args.input_stride};
}

// Returns the sums of `count` channels at most.
HWY_INLINE FloatVec ConvSums(const ConvArgs& args, const ConvRow& row, size_t channel, size_t count) {
  const float* weights = args.weights + channel;
  FloatVec sums = args.bias != nullptr ? LoadUpTo(args.bias + channel, count) : hn::Zero(FloatTag());
  for (size_t k = 0; k < row.old_taps; ++k) {
    const FloatVec old = row.old ? LoadUpTo(row.old + k * args.channels + channel, count) : hn::Zero(FloatTag());
    sums = hn::MulAdd(LoadUpTo(weights + k * args.channels, count), old, sums);
  }
  for (size_t k = row.old_taps; k < args.taps; ++k) {
    const FloatVec input = LoadUpTo(row.input + (k - row.old_taps) * args.input_stride + channel, count);
    sums = hn::MulAdd(LoadUpTo(weights + k * args.channels, count), input, sums);
  }
  return sums;
}

inline void Conv(const ConvArgs& args) {
  const size_t step = hn::Lanes(FloatTag());
  for (size_t i = 0; i < args.num_runs; ++i) {
    const RecurrentRun& run = args.runs[i];
    const size_t row_end = HWY_MIN(run.row_end, args.row_end);
    for (size_t row = HWY_MAX(run.row_begin, args.row_begin); row < row_end; ++row) {
      const ConvRow taps = TapsOf(args, run, row);
      float* output = args.output + row * args.channels;
      for (size_t channel = 0; channel < args.channels; channel += step) {
        const FloatVec sums = ConvSums(args, taps, channel, args.channels - channel);
        StoreUpTo(args.silu ? Silu(sums) : sums, output + channel, args.channels - channel);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_CONV_INL_TOGGLE
