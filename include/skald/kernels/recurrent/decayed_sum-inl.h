// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of RWKV-6: a sum of products of keys and values that decays by keys. A head processes the rows of its
// run in order; the formulas of PrepareSumHead and AdvanceSum, one rounding per operation, are the order of the
// contract. As in the delta net, a head's state is updated in place.

#if defined(SKALD_KERNELS_RECURRENT_DECAYED_SUM_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_DECAYED_SUM_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_DECAYED_SUM_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_DECAYED_SUM_INL_TOGGLE
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
struct SumTerms {
  const float *receptance, *key, *value;         // [head_dim]
  alignas(kAlignment) float decay[kMaxHeadDim];  // multiplies the state
  alignas(kAlignment) float bonus[kMaxHeadDim];  // the key times its bonus
};

HWY_INLINE void PrepareSumHead(const DecayedSumArgs& args, size_t row, size_t head, SumTerms& terms) {
  const size_t size = args.head_dim, width = args.heads * size, begin = head * size;
  terms.receptance = args.input + row * 4 * width + begin;
  const float* const exponents = terms.receptance + width;
  terms.key = exponents + width;
  terms.value = terms.key + width;
  for (size_t n = 0; n < size; n += hn::Lanes(FloatTag())) {
    const size_t count = size - n;
    StoreUpTo(Exp(hn::Neg(Exp(LoadUpTo(exponents + n, count)))), terms.decay + n, count);
    const FloatVec bonus = LoadUpTo(args.bonus + begin + n, count);
    StoreUpTo(hn::Mul(LoadUpTo(terms.key + n, count), bonus), terms.bonus + n, count);
  }
}

// Advances kPanels panels of `count` channels each by one row. Over ascending n, with m = (bonus[n] k[n]) v + h[n],
// output = r[n] m + output from +0, and h[n] = d[n] h[n] + (k[n] v). Additions are fused.
template <size_t kPanels>
HWY_INLINE void AdvanceSum(const SumTerms& terms, const float* old_state, float* state, size_t size, size_t channel,
                           size_t count, float* output) {
  Lanes sum[kPanels], value[kPanels];
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    value[p] = LoadLanes(terms.value + channel + p * kLanes, count);
    sum[p] = ZeroLanes();
  }
  old_state += channel, state += channel;
  for (size_t n = 0; n < size; ++n, old_state += size, state += size) {
    const FloatVec decay = Splat(terms.decay[n]), key = Splat(terms.key[n]);
    const FloatVec bonus = Splat(terms.bonus[n]), receptance = Splat(terms.receptance[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const Lanes h = LoadLanes(old_state + p * kLanes, count);
      sum[p] = MulAdd(receptance, MulAdd(bonus, value[p], h), sum[p]);
      StoreLanes(MulAdd(decay, h, Mul(value[p], key)), state + p * kLanes, count);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) StoreLanes(sum[p], output + channel + p * kLanes, count);
}

inline void DecayedSum(const DecayedSumArgs& args) {
  const size_t dim = args.head_dim;
  SumTerms terms;
  AdvanceHeads(args, args.heads, dim * dim, [&](size_t row, size_t head, const float* old_state, float* state) {
    float* const output = args.output + (row * args.heads + head) * dim;
    PrepareSumHead(args, row, head, terms);
    ForPanels(dim, [&]<size_t kPanels>(size_t channel, size_t count) {
      AdvanceSum<kPanels>(terms, old_state, state, dim, channel, count, output);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_DECAYED_SUM_INL_TOGGLE
