// SPDX-License-Identifier: Apache-2.0
//
// The selective scan of Mamba and its gate. Each channel processes the rows of its run in order; the formulas of
// ScanChannels, one rounding per operation, are the order of the contract.

#if defined(SKALD_KERNELS_RECURRENT_SELECTIVE_SCAN_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_SELECTIVE_SCAN_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_SELECTIVE_SCAN_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_SELECTIVE_SCAN_INL_TOGGLE
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
inline constexpr size_t kScanStrip = 4;

// State and decays of a strip: [state_dim, channels], the channels padded to a multiple of kLanes; 32 KiB at most. In
// blocks and weights the floats of successive n are `width` apart, often a multiple of 4 KiB, of which L1 holds fewer
// than state_dim.
struct ScanBuffers {
  alignas(kAlignment) float state[kMaxStateDim * kLanes];
  alignas(kAlignment) float decay[kMaxStateDim * kLanes];
};

// Copies the channels of a strip from rows of [state_dim, width] to a buffer, and back.
HWY_INLINE void LoadStrip(const SelectiveScanArgs& args, const Strip& strip, const float* rows, float* buffer) {
  for (size_t n = 0; n < args.state_dim; ++n, rows += args.width) {
    for (size_t channel = strip.begin; channel < strip.end; channel += kLanes, buffer += kLanes) {
      StoreLanes(LoadLanes(rows + channel, HWY_MIN(kLanes, strip.end - channel)), buffer);
    }
  }
}
HWY_INLINE void StoreStrip(const SelectiveScanArgs& args, const Strip& strip, const float* buffer, float* rows) {
  for (size_t n = 0; n < args.state_dim; ++n, rows += args.width) {
    for (size_t channel = strip.begin; channel < strip.end; channel += kLanes, buffer += kLanes) {
      StoreLanes(LoadLanes(buffer), rows + channel, HWY_MIN(kLanes, strip.end - channel));
    }
  }
}

// Advances `count` channels at most by one row. With d = Softplus(dt) and u = d x, over ascending n:
// h[n] = Exp(d decay[n]) h[n] + (u B[n]), sum = C[n] h[n] + sum from +0, the outer additions fused. Then
// output = (skip x + sum) SiLU(gate), the addition fused. In `decay` and `state` the floats of successive n lie
// `stride` apart.
HWY_INLINE void ScanChannels(const SelectiveScanArgs& args, size_t row, size_t channel, size_t count,
                             const float* decay, float* state, size_t stride) {
  const FloatTag tag;
  const size_t index = row * args.width + channel;
  const FloatVec x = LoadUpTo(args.input + index, count);
  const FloatVec d = Softplus(LoadUpTo(args.time_step + index, count));
  const FloatVec u = hn::Mul(d, x);
  const float* b = args.b + row * args.bc_stride;
  const float* c = args.c + row * args.bc_stride;
  FloatVec sum = hn::Zero(tag);
  for (size_t n = 0; n < args.state_dim; ++n, decay += stride, state += stride) {
    const FloatVec a = Exp(hn::Mul(d, hn::Load(tag, decay)));
    const FloatVec h = hn::MulAdd(a, hn::Load(tag, state), hn::Mul(u, Splat(b[n])));
    hn::Store(h, tag, state);
    sum = hn::MulAdd(Splat(c[n]), h, sum);
  }
  const FloatVec y = hn::MulAdd(LoadUpTo(args.skip + channel, count), x, sum);
  const FloatVec gate = Silu(LoadUpTo(args.gate + row * args.gate_stride + channel, count));
  StoreUpTo(hn::Mul(y, gate), args.output + index, count);
}

inline void ScanStrip(const SelectiveScanArgs& args, const Strip& strip) {
  const RecurrentRun& run = *strip.run;
  const size_t step = hn::Lanes(FloatTag()), size = strip.end - strip.begin, stride = strip.units * kLanes;
  ScanBuffers buffers;
  LoadStrip(args, strip, args.decay, buffers.decay);
  if (run.input) {
    LoadStrip(args, strip, StateIn(run.input, args.state_offset), buffers.state);
  } else {
    hwy::ZeroBytes(buffers.state, args.state_dim * stride * sizeof(float));
  }
  size_t row = run.row_begin;
  for (size_t i = 0; i < run.num_outputs; ++i) {
    for (; row < run.outputs[i].row_end; ++row) {
      for (size_t c = 0; c < size; c += step) {
        ScanChannels(args, row, strip.begin + c, size - c, buffers.decay + c, buffers.state + c, stride);
      }
    }
    StoreStrip(args, strip, buffers.state, StateIn(run.outputs[i].block, args.state_offset));
  }
}

inline void SelectiveScan(const SelectiveScanArgs& args) {
  const size_t max_units = HWY_MIN(kScanStrip, kMaxStateDim / args.state_dim);
  for (size_t unit = args.unit_begin; unit < args.unit_end;) {
    const Strip strip = StripAt(args.runs, args.width, unit, args.unit_end, max_units);
    ScanStrip(args, strip);
    unit += strip.units;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_SELECTIVE_SCAN_INL_TOGGLE
