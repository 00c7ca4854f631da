// SPDX-License-Identifier: Apache-2.0
//
// The online softmax of attention (Milakov and Gimelshein 2018, arXiv:1805.02867), one span of positions at a time: dot
// products become scores, scores become probabilities relative to the largest score so far.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_SOFTMAX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_SOFTMAX_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_SOFTMAX_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_SOFTMAX_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/attention/attention_codes-inl.h"
#include "skald/kernels/attention/attention_product-inl.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Positions [begin, end), absolute or from the beginning of a span.
struct Positions {
  size_t begin, end;

  HWY_INLINE bool empty() const { return begin >= end; }
  HWY_INLINE size_t first_tile() const { return begin / kTile; }
  HWY_INLINE size_t end_tile() const { return (end + kTile - 1) / kTile; }
  // The part of a range within the span that begins at `span`, counted from there.
  HWY_INLINE Positions In(size_t span) const {
    return {HWY_MAX(begin, span) - span, HWY_MIN(HWY_MAX(end, span), span + kAttentionSpan) - span};
  }
};

// score if its position, first + lane, is visible, else minus infinity.
HWY_INLINE FloatVec Masked(FloatVec score, size_t first, const Positions& visible) {
  const FloatTag tag;
  const hn::RebindToSigned<FloatTag> index_tag;
  const auto index = hn::Iota(index_tag, static_cast<int32_t>(first));
  const auto mask = hn::And(hn::Ge(index, hn::Set(index_tag, static_cast<int32_t>(visible.begin))),
                            hn::Lt(index, hn::Set(index_tag, static_cast<int32_t>(visible.end))));
  return hn::IfThenElse(hn::RebindMask(tag, mask), score, hn::Set(tag, -std::numeric_limits<float>::infinity()));
}

// The further step between scaled dot products and scores.
enum class ScoreChange { kNone, kSoftcap, kBias };

// Turns the dot products of one query in `panels` panels into scores: scaled, capped or with a bias added, and with
// kMasked minus infinity if invisible. `scores` is the row in the first of the panels, which begins at position `first`
// of the span, and `bias` what is added at the span's beginning. Returns the maximum.
template <ScoreChange kChange, bool kMasked>
HWY_INLINE float FinishPanels(FloatVec scale, FloatVec cap, const float* bias, const Positions& visible, size_t first,
                              size_t panels, float* scores) {
  const FloatTag tag;
  FloatVec max = hn::Set(tag, -std::numeric_limits<float>::infinity());
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  const auto finish_panel = [&](size_t panel) HWY_ATTR {
    SKALD_UNROLL_PARTS
    for (size_t part = 0; part < parts; ++part) {
      const size_t i = part * hn::Lanes(tag);
      FloatVec score = hn::Mul(hn::Load(tag, scores + panel * kSumTile + i), scale);
      if constexpr (kChange == ScoreChange::kSoftcap) score = Capped(score, cap);
      if constexpr (kChange == ScoreChange::kBias) {
        score = hn::Add(score, hn::LoadU(tag, bias + first + panel * kLanes + i));
      }
      if constexpr (kMasked) score = Masked(score, first + panel * kLanes + i, visible);
      max = hn::Max(max, score);
      hn::Store(score, tag, scores + panel * kSumTile + i);
    }
  };
  if constexpr (kChange == ScoreChange::kSoftcap) {  // too long to be worth unrolling
    for (size_t panel = 0; panel < panels; ++panel) finish_panel(panel);
  } else {
    HWY_UNROLL(8)
    for (size_t panel = 0; panel < panels; ++panel) finish_panel(panel);
  }
  return hn::ReduceMax(tag, max);
}

// The same for every tile of a span that has visible positions. `scores` is the row in the span's first panel.
template <ScoreChange kChange>
HWY_INLINE float FinishRow(FloatVec scale, FloatVec cap, const float* bias, const Positions& visible, float* scores) {
  if (visible.end - visible.begin == kAttentionSpan) {
    return FinishPanels<kChange, false>(scale, cap, bias, visible, 0, kAttentionSpan / kLanes, scores);
  }
  const size_t first = visible.first_tile() * kTile, panels = (visible.end_tile() * kTile - first) / kLanes;
  return FinishPanels<kChange, true>(scale, cap, bias, visible, first, panels, scores + first / kLanes * kSumTile);
}

// The same for rows [0, rows): max[r] becomes the larger of before[r] and the row's maximum. visible[r] are
// absolute positions, `span` is where the span begins; bias[r] is what is added at position 0, if kChange says so.
template <ScoreChange kChange>
void FinishScores(const AttentionArgs& args, size_t span, const Positions* visible, const float* const* bias,
                  size_t rows, const Sums& scores, const float* before, float* max) {
  const FloatVec scale = hn::Set(FloatTag(), args.scale), cap = hn::Set(FloatTag(), args.softcap);
  for (size_t r = 0; r < rows; ++r) {
    const Positions here = visible[r].In(span);
    max[r] = before[r];
    if (here.empty()) continue;
    const float* const added = kChange == ScoreChange::kBias ? bias[r] + span : nullptr;
    const float row_max = FinishRow<kChange>(scale, cap, added, here, scores.Row(r));
    max[r] = HWY_MAX(before[r], row_max);
  }
}

// FinishScores with the change that the layer has. A pointer, so that the rest of attention is compiled only once.
using FinishFunction = void (*)(const AttentionArgs& args, size_t span, const Positions* visible,
                                const float* const* bias, size_t rows, const Sums& scores, const float* before,
                                float* max);

// Stores the kTile probabilities of two panels, rounded to T.
template <class T>
HWY_INLINE void StoreWeights(const Lanes& first, const Lanes& second, float* to) {
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const size_t at = i * hn::Lanes(FloatTag());
    hn::Store(Rounded<T>(Part(first, i)), FloatTag(), to + at);
    hn::Store(Rounded<T>(Part(second, i)), FloatTag(), to + kLanes + at);
  }
}

#if HWY_TARGET == HWY_AVX3_SPR || HWY_TARGET == HWY_AVX3_ZEN4
// The instruction for it flushes subnormal numbers to zero. Exp returns none, and a product flushes them as well.
template <class T>
HWY_INLINE void StoreWeights(const Lanes& first, const Lanes& second, bf16* to) {
  const __m512bh rounded = _mm512_cvtne2ps_pbh(Part(second, 0).raw, Part(first, 0).raw);
  StoreOperandRow(BitsVec{reinterpret_cast<__m512i>(rounded)}, to);
}
#endif

HWY_INLINE Lanes ExpOfDifference(const float* scores, FloatVec max) {
  Lanes result = LoadLanes(scores);
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, ExpNonPositive(hn::Sub(Part(result, i), max)));
  return result;
}

// Turns the scores of one query into probabilities relative to `max`, zero if invisible: weights[tile] for the tiles of
// `span`, times value_scales[tile] if T are codes. Adds the probabilities to `sum`, times `correction`.
template <class T, class E>
HWY_INLINE void WeighSpan(const Positions& span, const Positions& visible, const float* scores,
                          const float* const* value_scales, float max, float correction, E* weights, float* sum) {
  const FloatVec subtrahend = hn::Set(FloatTag(), max);
  Lanes total = Mul(LoadLanes(sum), hn::Set(FloatTag(), correction));
  for (size_t tile = span.first_tile(); tile < span.end_tile(); ++tile) {
    E* const to = weights + tile * kOperandTile;
    if (tile < visible.first_tile() || tile >= visible.end_tile()) {
      StoreWeights<T>(ZeroLanes(), ZeroLanes(), to);
      continue;
    }
    const float* const panels = scores + tile * (kTile / kLanes) * kSumTile;
    const Lanes first = ExpOfDifference(panels, subtrahend);
    const Lanes second = ExpOfDifference(panels + kSumTile, subtrahend);
    total = Add(Add(total, first), second);
    if constexpr (kDTypeOf<T> == DType::kI8) {
      const float* const scales = value_scales[tile];
      StoreWeights<T>(ScaledWeights(first, scales), ScaledWeights(second, scales + kLanes), to);
    } else {
      StoreWeights<T>(first, second, to);
    }
  }
  StoreLanes(total, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_SOFTMAX_INL_TOGGLE
