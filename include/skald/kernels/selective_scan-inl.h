// SPDX-License-Identifier: Apache-2.0
//
// The selective scan of Mamba and its gate. Each channel goes through the rows of its run in order; the formulas of
// ScanChannels, one rounding per operation, are the order of the contract.

#if defined(SKALD_KERNELS_SELECTIVE_SCAN_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SELECTIVE_SCAN_INL_TOGGLE
#undef SKALD_KERNELS_SELECTIVE_SCAN_INL_TOGGLE
#else
#define SKALD_KERNELS_SELECTIVE_SCAN_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/math-inl.h"
#include "skald/kernels/recurrence-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// State and decays of one unit, [state_dim, kLanes], 32 KiB at most. In blocks and weights these rows lie `width`
// floats apart, often a multiple of 4 KiB, of which L1 holds fewer than state_dim.
struct ScanUnit {
  alignas(kAlignment) float state[kMaxStateDim * kLanes];
  alignas(kAlignment) float decay[kMaxStateDim * kLanes];
};

// Copies the first `count` <= kLanes of each of `rows` rows.
HWY_INLINE void CopyRows(const float* from, size_t from_stride, size_t rows, size_t count, float* to,
                         size_t to_stride) {
  for (size_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    StoreLanes(LoadLanes(from, count), to, count);
  }
}

// Advances `count` channels at most by one row, `state` and `decay` being theirs. With d = Softplus(dt) and u = d x,
// over ascending n: h[n] = Exp(d decay[n]) h[n] + (u B[n]), sum = C[n] h[n] + sum from +0, the outer additions fused.
// Then output = (skip x + sum) SiLU(gate), the addition fused.
HWY_INLINE void ScanChannels(const SelectiveScanArgs& args, size_t row, size_t channel, size_t count,
                             const float* decay, float* state) {
  const FloatTag tag;
  const size_t index = row * args.width + channel;
  const FloatVec x = LoadUpTo(args.input + index, count);
  const FloatVec d = Softplus(LoadUpTo(args.time_step + index, count));
  const FloatVec u = hn::Mul(d, x);
  const float* b = args.b + row * args.bc_stride;
  const float* c = args.c + row * args.bc_stride;
  FloatVec sum = hn::Zero(tag);
  for (size_t n = 0; n < args.state_dim; ++n, decay += kLanes, state += kLanes) {
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
  const size_t step = hn::Lanes(FloatTag()), count = strip.end - strip.begin;
  const float* input = StateIn(run.input, args.state_offset);
  ScanUnit unit;
  for (size_t i = 0; i < args.state_dim * kLanes; ++i) unit.state[i] = unit.decay[i] = 0.0f;
  if (input) CopyRows(input + strip.begin, args.width, args.state_dim, count, unit.state, kLanes);
  CopyRows(args.decay + strip.begin, args.width, args.state_dim, count, unit.decay, kLanes);
  size_t row = run.row_begin;
  for (size_t i = 0; i < run.num_outputs; ++i) {
    for (; row < run.outputs[i].row_end; ++row) {
      for (size_t c = 0; c < count; c += step) {
        ScanChannels(args, row, strip.begin + c, count - c, unit.decay + c, unit.state + c);
      }
    }
    float* output = StateIn(run.outputs[i].block, args.state_offset);
    CopyRows(unit.state, kLanes, args.state_dim, count, output + strip.begin, args.width);
  }
}

inline void SelectiveScan(const SelectiveScanArgs& args) {
  for (size_t unit = args.unit_begin; unit < args.unit_end; ++unit) {
    ScanStrip(args, StripAt(args.runs, args.width, unit, args.unit_end, 1));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SELECTIVE_SCAN_INL_TOGGLE
