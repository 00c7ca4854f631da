// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of Mamba-2 and its gate. Each channel processes the rows of its run in order; the formulas of
// AdvanceChannels and AdvanceHead, one rounding per operation, are the order of the contract. The state of a head is
// too large for registers, so it is updated in place, in the block of the next output.

#if defined(SKALD_KERNELS_RECURRENT_STATE_SPACE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_STATE_SPACE_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_STATE_SPACE_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_STATE_SPACE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The inputs and outputs of one head in one row.
struct HeadRow {
  const float* x;          // [head_dim]
  const float* b;          // [state_dim]
  const float* c;          // [state_dim]
  const float* gate;       // [head_dim]
  float* output;           // [head_dim]
  const float* old_state;  // [state_dim, head_dim]
  float* state;            // likewise; may be old_state
  size_t head_dim, state_dim;
};

HWY_INLINE HeadRow HeadRowAt(const StateSpaceArgs& args, size_t row, size_t head, const float* old_state,
                             float* state) {
  const size_t width = args.heads * args.head_dim, group = head / (args.heads / args.groups);
  const float* input = args.input + row * (width + 2 * args.groups * args.state_dim);
  const float* b = input + width + group * args.state_dim;
  const size_t channel = head * args.head_dim;
  return {.x = input + channel,
          .b = b,
          .c = b + args.groups * args.state_dim,
          .gate = args.gate + row * args.gate_stride + channel,
          .output = args.output + row * width + channel,
          .old_state = old_state,
          .state = state,
          .head_dim = args.head_dim,
          .state_dim = args.state_dim};
}

HWY_INLINE Lanes MulSilu(const Lanes& a, const Lanes& gate) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Mul(Part(a, i), Silu(Part(gate, i))));
  return result;
}

// Advances kPanels panels of `count` channels each (kLanes, or fewer in a single panel) by one row. With u = d x, over
// ascending n: h[n] = a h[n] + (u B[n]), sum = C[n] h[n] + sum from +0, the outer additions fused. Then
// output = (skip x + sum) SiLU(gate), the addition fused.
template <size_t kPanels>
HWY_INLINE void AdvanceChannels(const HeadRow& row, size_t channel, size_t count, FloatVec d, FloatVec a,
                                FloatVec skip) {
  Lanes u[kPanels], sum[kPanels];
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    u[p] = Mul(LoadLanes(row.x + channel + p * kLanes, count), d);
    sum[p] = ZeroLanes();
  }
  const float* old_state = row.old_state + channel;
  float* state = row.state + channel;
  for (size_t n = 0; n < row.state_dim; ++n, old_state += row.head_dim, state += row.head_dim) {
    const FloatVec b = Splat(row.b[n]), c = Splat(row.c[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const Lanes h = MulAdd(a, LoadLanes(old_state + p * kLanes, count), Mul(u[p], b));
      StoreLanes(h, state + p * kLanes, count);
      sum[p] = MulAdd(c, h, sum[p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    const size_t begin = channel + p * kLanes;
    const Lanes y = MulAdd(skip, LoadLanes(row.x + begin, count), sum[p]);
    StoreLanes(MulSilu(y, LoadLanes(row.gate + begin, count)), row.output + begin, count);
  }
}

// Advances one head by one row: d = min(max(Softplus(dt + bias), time_step_min), time_step_max), a = Exp(d decay).
HWY_INLINE void AdvanceHead(const StateSpaceArgs& args, size_t row_index, size_t head, const float* old_state,
                            float* state) {
  const HeadRow row = HeadRowAt(args, row_index, head, old_state, state);
  const float time_step = args.time_step[row_index * args.time_step_stride + head];
  const FloatVec positive = Softplus(hn::Add(Splat(time_step), Splat(args.time_step_bias[head])));
  const FloatVec d = hn::Min(hn::Max(positive, Splat(args.time_step_min)), Splat(args.time_step_max));
  const FloatVec a = Exp(hn::Mul(d, Splat(args.decay[head])));
  const FloatVec skip = Splat(args.skip[head]);
  size_t channel = 0;
  if constexpr (kRowPanels > 1) {
    for (; channel + kRowPanels * kLanes <= args.head_dim; channel += kRowPanels * kLanes) {
      AdvanceChannels<kRowPanels>(row, channel, kLanes, d, a, skip);
    }
  }
  for (; channel < args.head_dim; channel += kLanes) {
    AdvanceChannels<1>(row, channel, HWY_MIN(kLanes, args.head_dim - channel), d, a, skip);
  }
}

inline void StateSpace(const StateSpaceArgs& args) {
  AdvanceHeads(args, args.heads, args.state_dim * args.head_dim,
               [&](size_t row, size_t head, const float* old_state, float* state) {
                 AdvanceHead(args, row, head, old_state, state);
               });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_STATE_SPACE_INL_TOGGLE
