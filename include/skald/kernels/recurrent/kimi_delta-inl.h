// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of Kimi delta attention: that of a gated delta net whose state decays by keys. A head processes the
// rows of its run in order; the formulas of PrepareKimiHead and AdvanceKimi, one rounding per operation, are the order
// of the contract. As in the delta net, a head's state is updated in place.

#if defined(SKALD_KERNELS_RECURRENT_KIMI_DELTA_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_KIMI_DELTA_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_KIMI_DELTA_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_KIMI_DELTA_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/delta_net-inl.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The inputs of one head in one row, and what is computed of them before the state is read.
struct KimiTerms {
  const float *query, *key, *value;               // [head_dim]
  alignas(kAlignment) float decay[kMaxHeadDim];   // multiplies the state
  alignas(kAlignment) float recall[kMaxHeadDim];  // the key times that
  float rate;                                     // before its sigmoid
};

HWY_INLINE void PrepareKimiHead(const KimiDeltaArgs& args, size_t row, size_t head, KimiTerms& terms) {
  const size_t size = args.head_dim, width = args.heads * size, begin = head * size;
  terms.query = args.input + row * 3 * width + begin;
  terms.key = terms.query + width;
  terms.value = terms.key + width;
  terms.rate = args.rates[row * args.heads + head];
  const float* const inputs = args.decay_input + row * width + begin;
  const FloatVec factor = Splat(args.decay[head]);
  for (size_t n = 0; n < size; n += hn::Lanes(FloatTag())) {
    const size_t count = size - n;
    const FloatVec step = hn::Add(LoadUpTo(inputs + n, count), LoadUpTo(args.time_step_bias + begin + n, count));
    const FloatVec decay = Exp(hn::Mul(Softplus(step), factor));
    StoreUpTo(decay, terms.decay + n, count);
    StoreUpTo(hn::Mul(LoadUpTo(terms.key + n, count), decay), terms.recall + n, count);
  }
}

// Advances kPanels panels of `count` channels each by one row. Over ascending n, sum = (k[n] d[n]) h[n] + sum from +0;
// then u = (v - sum) beta, and over ascending n again h[n] = d[n] h[n] + (k[n] u) and output = q[n] h[n] + output from
// +0. Additions are fused.
template <size_t kPanels>
HWY_INLINE void AdvanceKimi(const KimiTerms& terms, const float* old_state, float* state, size_t size, size_t channel,
                            size_t count, float* output) {
  Lanes sum[kPanels], u[kPanels];
  const FloatVec beta = Sigmoid(Splat(terms.rate)), minus_one = Splat(-1.0f);
  Recall<kPanels>(terms.recall, old_state + channel, size, size, count, sum);
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    u[p] = Mul(MulAdd(minus_one, sum[p], LoadLanes(terms.value + channel + p * kLanes, count)), beta);
    sum[p] = ZeroLanes();
  }
  old_state += channel, state += channel;
  for (size_t n = 0; n < size; ++n, old_state += size, state += size) {
    const FloatVec decay = Splat(terms.decay[n]), key = Splat(terms.key[n]), query = Splat(terms.query[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const Lanes h = MulAdd(decay, LoadLanes(old_state + p * kLanes, count), Mul(u[p], key));
      StoreLanes(h, state + p * kLanes, count);
      sum[p] = MulAdd(query, h, sum[p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) StoreLanes(sum[p], output + channel + p * kLanes, count);
}

inline void KimiDelta(const KimiDeltaArgs& args) {
  const size_t dim = args.head_dim;
  KimiTerms terms;
  AdvanceHeads(args, args.heads, dim * dim, [&](size_t row, size_t head, const float* old_state, float* state) {
    float* const output = args.output + (row * args.heads + head) * dim;
    PrepareKimiHead(args, row, head, terms);
    ForPanels(dim, [&]<size_t kPanels>(size_t channel, size_t count) {
      AdvanceKimi<kPanels>(terms, old_state, state, dim, channel, count, output);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_KIMI_DELTA_INL_TOGGLE
