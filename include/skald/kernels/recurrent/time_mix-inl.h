// SPDX-License-Identifier: Apache-2.0
//
// The time mix of RWKV-7: a delta rule whose state decays by keys and whose rate is a vector too. A head processes the
// rows of its run in order; the formulas of PrepareHead and AdvanceMemory, one rounding per operation, are the order of
// the contract. As in the delta net, a head's state is updated in place.

#if defined(SKALD_KERNELS_RECURRENT_TIME_MIX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_TIME_MIX_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_TIME_MIX_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_TIME_MIX_INL_TOGGLE
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/recurrent/delta_net-inl.h"
#include "skald/kernels/recurrent/recurrence-inl.h"
#include "skald/kernels/rows/norm-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The inputs of one head for one row, [head_dim] each.
struct TimeMixRow {
  const float *receptance, *decay, *key, *value, *rate, *gate;
  const float *first_value, *blend;  // or null
};

HWY_INLINE TimeMixRow TimeMixRowAt(const TimeMixArgs& args, size_t row, size_t head) {
  const size_t width = args.heads * args.head_dim, begin = head * args.head_dim;
  const float* input = args.input + row * 6 * width + begin;
  const bool blends = args.first_values != nullptr;
  return {.receptance = input,
          .decay = input + width,
          .key = input + 2 * width,
          .value = input + 3 * width,
          .rate = input + 4 * width,
          .gate = input + 5 * width,
          .first_value = blends ? args.first_values + row * args.first_stride + begin : nullptr,
          .blend = blends ? args.blend + row * width + begin : nullptr};
}

// The terms computed from the inputs before the state is read.
struct TimeMixTerms {
  alignas(kAlignment) float decay[kMaxHeadDim];   // multiplies the state
  alignas(kAlignment) float recall[kMaxHeadDim];  // key of the replaced memory, of length 1
  alignas(kAlignment) float remove[kMaxHeadDim];  // recall times the rate
  alignas(kAlignment) float key[kMaxHeadDim];     // key of the written memory
  alignas(kAlignment) float value[kMaxHeadDim];
};

// Fills in the terms of one head, whose channels begin at `begin` of all.
HWY_INLINE void PrepareHead(const TimeMixArgs& args, const TimeMixRow& row, size_t begin, TimeMixTerms& terms) {
  const FloatTag tag;
  const size_t size = args.head_dim, step = hn::Lanes(tag);
  for (size_t n = 0; n < size; n += step) {
    const FloatVec key = LoadUpTo(row.key + n, size - n);
    StoreUpTo(hn::Mul(key, LoadUpTo(args.key_scale + begin + n, size - n)), terms.recall + n, size - n);
  }
  // A vector of zeros stays zero.
  const float length = std::sqrt(SumOfSquares(terms.recall, size));
  const FloatVec to_unit = Splat(1.0f / HWY_MAX(length, 1e-12f)), one = Splat(1.0f);
  for (size_t n = 0; n < size; n += step) {
    const size_t count = size - n;
    const FloatVec rate = Sigmoid(LoadUpTo(row.rate + n, count));
    const FloatVec recall = hn::Mul(LoadUpTo(terms.recall + n, count), to_unit);
    const FloatVec scale = hn::MulAdd(hn::Sub(rate, one), LoadUpTo(args.rate_scale + begin + n, count), one);
    const FloatVec decay = Exp(hn::Mul(Splat(-0.606530659713f), Sigmoid(LoadUpTo(row.decay + n, count))));
    FloatVec value = LoadUpTo(row.value + n, count);
    if (row.first_value != nullptr) {
      const FloatVec difference = hn::Sub(LoadUpTo(row.first_value + n, count), value);
      value = hn::MulAdd(difference, Sigmoid(LoadUpTo(row.blend + n, count)), value);
    }
    StoreUpTo(decay, terms.decay + n, count);
    StoreUpTo(recall, terms.recall + n, count);
    StoreUpTo(hn::Mul(recall, rate), terms.remove + n, count);
    StoreUpTo(hn::Mul(LoadUpTo(row.key + n, count), scale), terms.key + n, count);
    StoreUpTo(value, terms.value + n, count);
  }
}

// Advances kPanels panels of `count` channels each by one row. Over ascending n, u = kk[n] h[n] + u from +0; then over
// ascending n again h[n] = d[n] h[n] + (-b[n] u + (l[n] v)) and output = r[n] h[n] + output from +0, additions fused.
template <size_t kPanels>
HWY_INLINE void AdvanceMemory(const TimeMixTerms& terms, const float* receptance, const float* old_state, float* state,
                              size_t size, size_t channel, size_t count, float* output) {
  Lanes recalled[kPanels], value[kPanels], sum[kPanels];
  Recall<kPanels>(terms.recall, old_state + channel, size, size, count, recalled);
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) {
    value[p] = LoadLanes(terms.value + channel + p * kLanes, count);
    sum[p] = ZeroLanes();
  }
  old_state += channel, state += channel;
  for (size_t n = 0; n < size; ++n, old_state += size, state += size) {
    const FloatVec decay = Splat(terms.decay[n]), remove = Splat(-terms.remove[n]), key = Splat(terms.key[n]);
    const FloatVec r = Splat(receptance[n]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const Lanes change = MulAdd(remove, recalled[p], Mul(value[p], key));
      const Lanes h = MulAdd(decay, LoadLanes(old_state + p * kLanes, count), change);
      StoreLanes(h, state + p * kLanes, count);
      sum[p] = MulAdd(r, h, sum[p]);
    }
  }
  HWY_UNROLL(16)
  for (size_t p = 0; p < kPanels; ++p) StoreLanes(sum[p], output + channel + p * kLanes, count);
}

// Returns the sum over n of (r[n] key[n]) bonus[n], in the order of R3.
HWY_INLINE float BonusOf(const float* receptance, const float* key, const float* bonus, size_t size) {
  Lanes sum = ZeroLanes();
  for (size_t n = 0; n < size; n += kLanes) {
    const size_t count = HWY_MIN(kLanes, size - n);
    const Lanes product = Mul(LoadLanes(receptance + n, count), LoadLanes(key + n, count));
    sum = MulAdd(product, LoadLanes(bonus + n, count), sum);
  }
  return TreeSum(sum);
}

// output = (LayerNorm(output) + bonus value) gate.
HWY_INLINE void FinishHead(const TimeMixArgs& args, const TimeMixRow& row, const TimeMixTerms& terms, size_t begin,
                           float* output) {
  const LayerNormArgs norm = {.input = output,
                              .input_stride = 0,
                              .weight = args.norm_weight + begin,
                              .bias = args.norm_bias + begin,
                              .output = output,
                              .output_stride = 0,
                              .cols = args.head_dim,
                              .epsilon = args.norm_epsilon,
                              .row_begin = 0,
                              .row_end = 1};
  LayerNormRow(norm, output, output);
  const FloatVec bonus = Splat(BonusOf(row.receptance, terms.key, args.bonus + begin, args.head_dim));
  for (size_t p = 0; p < args.head_dim; p += hn::Lanes(FloatTag())) {
    const size_t count = args.head_dim - p;
    const FloatVec sum = hn::MulAdd(bonus, LoadUpTo(terms.value + p, count), LoadUpTo(output + p, count));
    StoreUpTo(hn::Mul(sum, LoadUpTo(row.gate + p, count)), output + p, count);
  }
}

inline void TimeMix(const TimeMixArgs& args) {
  const size_t dim = args.head_dim;
  TimeMixTerms terms;
  AdvanceHeads(args, args.heads, dim * dim, [&](size_t row_index, size_t head, const float* old_state, float* state) {
    const TimeMixRow row = TimeMixRowAt(args, row_index, head);
    float* const output = args.output + (row_index * args.heads + head) * dim;
    PrepareHead(args, row, head * dim, terms);
    ForPanels(dim, [&]<size_t kPanels>(size_t channel, size_t count) {
      AdvanceMemory<kPanels>(terms, row.receptance, old_state, state, dim, channel, count, output);
    });
    FinishHead(args, row, terms, head * dim, output);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_TIME_MIX_INL_TOGGLE
