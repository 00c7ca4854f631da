// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of a gated delta net. Each channel of a value head processes the rows of its run in order; the
// formulas of AdvanceDelta, one rounding per operation, are the order of the contract. As in Mamba-2, the state of a
// head is updated in place, in the block of the next output.

#if defined(SKALD_KERNELS_RECURRENT_DELTA_NET_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_DELTA_NET_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_DELTA_NET_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_DELTA_NET_INL_TOGGLE
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

// The inputs and outputs of one value head in one row.
struct DeltaRow {
  const float* query;      // [key_dim]
  const float* key;        // [key_dim]
  const float* value;      // [value_dim]
  float* output;           // [value_dim]
  const float* old_state;  // [key_dim, value_dim]
  float* state;            // likewise; may be old_state
  size_t key_dim, value_dim;
};

HWY_INLINE DeltaRow DeltaRowAt(const DeltaNetArgs& args, size_t row, size_t head, const float* old_state,
                               float* state) {
  const size_t keys = args.key_heads * args.key_dim, width = args.value_heads * args.value_dim;
  const size_t key_head = args.tiled ? head % args.key_heads : head / (args.value_heads / args.key_heads);
  const float* query = args.input + row * (2 * keys + width) + key_head * args.key_dim;
  return {.query = query,
          .key = query + keys,
          .value = args.input + row * (2 * keys + width) + 2 * keys + head * args.value_dim,
          .output = args.output + row * width + head * args.value_dim,
          .old_state = old_state,
          .state = state,
          .key_dim = args.key_dim,
          .value_dim = args.value_dim};
}

// sum[p] = the sum over ascending n of key[n] state[n], from +0, of kPanels panels of `count` channels each.
template <size_t kPanels>
HWY_INLINE void Recall(const float* keys, const float* state, size_t key_dim, size_t stride, size_t count, Lanes* sum) {
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) sum[p] = ZeroLanes();
  for (size_t n = 0; n < key_dim; ++n, state += stride) {
    const FloatVec key = Splat(keys[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) sum[p] = MulAdd(key, LoadLanes(state + p * kLanes, count), sum[p]);
  }
}

// Calls advance.operator()<panels>(channel, count) for all channels: as many panels at once as registers allow, then
// one at a time.
template <class Advance>
HWY_INLINE void ForPanels(size_t channels, Advance advance) {
  size_t channel = 0;
  if constexpr (kRowPanels > 1) {
    for (; channel + kRowPanels * kLanes <= channels; channel += kRowPanels * kLanes) {
      advance.template operator()<kRowPanels>(channel, kLanes);
    }
  }
  for (; channel < channels; channel += kLanes) {
    advance.template operator()<1>(channel, HWY_MIN(kLanes, channels - channel));
  }
}

// Advances kPanels panels of `count` channels each (kLanes, or fewer in a single panel) by one row. Over ascending n,
// sum = k[n] h[n] + sum from +0; then u = (v - a sum) beta, and over ascending n again h[n] = a h[n] + (k[n] u) and
// output = q[n] h[n] + output from +0. Additions are fused, and so is the subtraction.
template <size_t kPanels>
HWY_INLINE void AdvanceDelta(const DeltaRow& row, size_t channel, size_t count, FloatVec a, FloatVec beta) {
  Lanes sum[kPanels], u[kPanels];
  Recall<kPanels>(row.key, row.old_state + channel, row.key_dim, row.value_dim, count, sum);
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    u[p] = Mul(MulAdd(hn::Neg(a), sum[p], LoadLanes(row.value + channel + p * kLanes, count)), beta);
    sum[p] = ZeroLanes();
  }
  const float* old_state = row.old_state + channel;
  float* state = row.state + channel;
  for (size_t n = 0; n < row.key_dim; ++n, old_state += row.value_dim, state += row.value_dim) {
    const FloatVec key = Splat(row.key[n]), query = Splat(row.query[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const Lanes h = MulAdd(a, LoadLanes(old_state + p * kLanes, count), Mul(u[p], key));
      StoreLanes(h, state + p * kLanes, count);
      sum[p] = MulAdd(query, h, sum[p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) StoreLanes(sum[p], row.output + channel + p * kLanes, count);
}

// Advances one value head by one row: beta = Sigmoid(b), a = Exp(decay Softplus(dt + bias)).
HWY_INLINE void AdvanceDeltaHead(const DeltaNetArgs& args, size_t row_index, size_t head, const float* old_state,
                                 float* state) {
  const DeltaRow row = DeltaRowAt(args, row_index, head, old_state, state);
  const float* rates = args.rates + row_index * 2 * args.value_heads + head;
  const FloatVec beta = Sigmoid(Splat(rates[0]));
  const FloatVec time_step = Softplus(hn::Add(Splat(rates[args.value_heads]), Splat(args.time_step_bias[head])));
  const FloatVec a = Exp(hn::Mul(time_step, Splat(args.decay[head])));
  ForPanels(args.value_dim,
            [&]<size_t kPanels>(size_t channel, size_t count) { AdvanceDelta<kPanels>(row, channel, count, a, beta); });
}

inline void DeltaNet(const DeltaNetArgs& args) {
  AdvanceHeads(args, args.value_heads, args.key_dim * args.value_dim,
               [&](size_t row, size_t head, const float* old_state, float* state) {
                 AdvanceDeltaHead(args, row, head, old_state, state);
               });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_DELTA_NET_INL_TOGGLE
