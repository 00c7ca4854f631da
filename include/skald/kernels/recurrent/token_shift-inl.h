// SPDX-License-Identifier: Apache-2.0
//
// Token shift: a row mixed with the one before it. The row before the first one of a sequence is zeros that take part
// in the formula, so no bit depends on where a sequence was cut into runs.

#if defined(SKALD_KERNELS_RECURRENT_TOKEN_SHIFT_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_TOKEN_SHIFT_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_TOKEN_SHIFT_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_TOKEN_SHIFT_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// `previous` is null for zeros, `row_mixes` for none.
HWY_INLINE void ShiftRow(const TokenShiftArgs& args, const float* input, const float* previous, const float* row_mixes,
                         float* output) {
  for (size_t c = 0; c < args.channels; c += hn::Lanes(FloatTag())) {
    const size_t count = args.channels - c;
    const FloatVec x = LoadUpTo(input + c, count);
    const FloatVec change = hn::Sub(previous ? LoadUpTo(previous + c, count) : hn::Zero(FloatTag()), x);
    for (size_t m = 0; m < args.mixes; ++m) {
      FloatVec mix = LoadUpTo(args.mix + m * args.channels + c, count);
      if (row_mixes) mix = hn::Add(mix, LoadUpTo(row_mixes + m * args.channels + c, count));
      StoreUpTo(hn::MulAdd(change, mix, x), output + m * args.channels + c, count);
    }
  }
}

inline void TokenShift(const TokenShiftArgs& args) {
  for (size_t i = 0; i < args.num_runs; ++i) {
    const RecurrentRun& run = args.runs[i];
    const size_t row_end = HWY_MIN(run.row_end, args.row_end);
    for (size_t row = HWY_MAX(run.row_begin, args.row_begin); row < row_end; ++row) {
      const float* input = args.input + row * args.input_stride;
      const float* previous = row > run.row_begin ? input - args.input_stride : StateIn(run.input, args.state_offset);
      const size_t begin = row * args.mixes * args.channels;
      ShiftRow(args, input, previous, args.row_mixes ? args.row_mixes + begin : nullptr, args.output + begin);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_TOKEN_SHIFT_INL_TOGGLE
