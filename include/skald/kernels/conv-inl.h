// SPDX-License-Identifier: Apache-2.0
//
// Causal depthwise convolution over time. One output is one chain of fused multiply-adds: it begins with the bias and
// goes over the taps from the oldest to the row itself. Inputs before the first token of a sequence are zeros that
// take part in the chain, so no bit depends on where a sequence was cut into runs.

#if defined(SKALD_KERNELS_CONV_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_CONV_INL_TOGGLE
#undef SKALD_KERNELS_CONV_INL_TOGGLE
#else
#define SKALD_KERNELS_CONV_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/math-inl.h"
#include "skald/kernels/recurrence-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Channels that a range of rows is convolved for before the next ones: their weights and the last rows stay in L1.
inline constexpr size_t kConvStrip = 512;

// The taps of one row: the first `old_taps` multiply rows of the state, the others rows of the input.
struct ConvRow {
  const float* old;    // of tap 0, the next taps `channels` floats apart; null: zeros
  size_t old_taps;
  const float* input;  // of tap `old_taps`, the next taps `input_stride` floats apart
};

HWY_INLINE ConvRow TapsOf(const ConvArgs& args, const RecurrentRun& run, size_t row) {
  const size_t before = row - run.row_begin;
  const size_t old_taps = args.taps - 1 - HWY_MIN(before, args.taps - 1);
  const float* state = StateIn(run.input, args.state_offset);
  return {.old = state ? state + before * args.channels : nullptr,
          .old_taps = old_taps,
          .input = args.input + (row + old_taps + 1 - args.taps) * args.input_stride};
}

// Returns the sum of `count` channels at most.
HWY_INLINE FloatVec ConvSum(const ConvArgs& args, const ConvRow& row, size_t channel, size_t count) {
  FloatVec sum = LoadUpTo(args.bias + channel, count);
  const float* weights = args.weights + channel;
  for (size_t k = 0; k < row.old_taps; ++k, weights += args.channels) {
    const FloatVec old = row.old ? LoadUpTo(row.old + k * args.channels + channel, count) : hn::Zero(FloatTag());
    sum = hn::MulAdd(LoadUpTo(weights, count), old, sum);
  }
  const float* input = row.input + channel;
  for (size_t k = row.old_taps; k < args.taps; ++k, weights += args.channels, input += args.input_stride) {
    sum = hn::MulAdd(LoadUpTo(weights, count), LoadUpTo(input, count), sum);
  }
  return sum;
}

// Convolves rows [row_begin, row_end) of one run for channels [begin, end).
HWY_INLINE void ConvRun(const ConvArgs& args, const RecurrentRun& run, size_t row_begin, size_t row_end, size_t begin,
                        size_t end) {
  const size_t step = hn::Lanes(FloatTag());
  for (size_t row = row_begin; row < row_end; ++row) {
    const ConvRow taps = TapsOf(args, run, row);
    float* output = args.output + row * args.channels;
    for (size_t channel = begin; channel < end; channel += step) {
      const FloatVec sum = ConvSum(args, taps, channel, end - channel);
      StoreUpTo(args.silu ? Silu(sum) : sum, output + channel, end - channel);
    }
  }
}

inline void Conv(const ConvArgs& args) {
  for (size_t i = 0; i < args.num_runs; ++i) {
    const RecurrentRun& run = args.runs[i];
    const size_t row_begin = HWY_MAX(run.row_begin, args.row_begin), row_end = HWY_MIN(run.row_end, args.row_end);
    if (row_begin >= row_end) continue;
    for (size_t begin = 0; begin < args.channels; begin += kConvStrip) {
      ConvRun(args, run, row_begin, row_end, begin, HWY_MIN(begin + kConvStrip, args.channels));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_CONV_INL_TOGGLE
