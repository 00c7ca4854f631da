// SPDX-License-Identifier: Apache-2.0
//
// The real-gated linear recurrent unit (RG-LRU) and the gate of its block. Each channel processes the rows of its run
// in order; the formulas of RgLruChannels, one rounding per operation, are the order of the contract.

#if defined(SKALD_KERNELS_RECURRENT_RG_LRU_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_RG_LRU_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_RG_LRU_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_RG_LRU_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Units whose channels process a row together, so that memory is read in longer pieces than a cache line.
inline constexpr size_t kRgLruStrip = 16;

// Advances `count` channels at most by one row: h = a h + root (i x), output = h GeluTanh(gate), where
// a = Exp(decay Sigmoid(recurrence gate)) and root = sqrt(1 - a a), the argument rounded once. In the first row of a
// sequence a is 0, which makes the root 1.
HWY_INLINE void RgLruChannels(const RgLruArgs& args, size_t row, bool first, size_t channel, size_t count,
                              float* state) {
  const FloatTag tag;
  const float* gates = args.gates + row * 2 * args.width + channel;
  const FloatVec i = Sigmoid(LoadUpTo(gates, count));
  const FloatVec x = LoadUpTo(args.input + row * args.width + channel, count);
  FloatVec a = hn::Zero(tag);
  if (!first) a = Exp(hn::Mul(LoadUpTo(args.decay + channel, count), Sigmoid(LoadUpTo(gates + args.width, count))));
  const FloatVec root = hn::Sqrt(hn::NegMulAdd(a, a, Splat(1.0f)));
  const FloatVec h = hn::MulAdd(a, hn::Load(tag, state), hn::Mul(root, hn::Mul(i, x)));
  hn::Store(h, tag, state);
  const FloatVec gate = GeluTanh(LoadUpTo(args.gate + row * args.gate_stride + channel, count));
  StoreUpTo(hn::Mul(h, gate), args.output + row * args.width + channel, count);
}

inline void RgLruStrip(const RgLruArgs& args, const Strip& strip) {
  const RecurrentRun& run = *strip.run;
  const size_t step = hn::Lanes(FloatTag()), size = strip.end - strip.begin;
  const float* input = StateIn(run.input, args.state_offset);
  alignas(kAlignment) float state[kRgLruStrip * kLanes] = {};
  if (input) hwy::CopyBytes(input + strip.begin, state, size * sizeof(float));
  size_t row = run.row_begin;
  for (size_t i = 0; i < run.num_outputs; ++i) {
    for (; row < run.outputs[i].row_end; ++row) {
      const bool first = row == run.row_begin && !input;
      for (size_t c = 0; c < size; c += step) {
        RgLruChannels(args, row, first, strip.begin + c, size - c, state + c);
      }
    }
    float* output = StateIn(run.outputs[i].block, args.state_offset);
    hwy::CopyBytes(state, output + strip.begin, size * sizeof(float));
  }
}

inline void RgLru(const RgLruArgs& args) {
  for (size_t unit = args.unit_begin; unit < args.unit_end;) {
    const Strip strip = StripAt(args.runs, args.width, unit, args.unit_end, kRgLruStrip);
    RgLruStrip(args, strip);
    unit += strip.units;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_RG_LRU_INL_TOGGLE
