// SPDX-License-Identifier: Apache-2.0
//
// Attention over cached blocks (arithmetic contract, R5): scores and outputs are two multiplications in the order
// of R1, joined by an online softmax over fixed spans of positions. Query heads that share a kv head are computed
// together where they lie in the range of units, so that keys and values are read once for all of them; no bit
// depends on that, nor on the block size. Invisible positions are never read into a sum, whatever bytes they hold.

#if defined(SKALD_KERNELS_ATTENTION_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_INL_TOGGLE
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/bf16-inl.h"
#include "skald/kernels/kv-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/math-inl.h"
#include "skald/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Part of one span: the visible positions [begin, end), counted from the span's first position, and the tiles of
// keys and values of one kv head that hold them. Only tiles [first_tile, end_tile) have pointers.
template <class T>
struct SpanView {
  static constexpr size_t kTiles = kAttentionSpan / kTile;
  size_t begin, end;
  size_t first_tile, end_tile;
  const T* keys[kTiles];    // [kTile / kLanes] panels of padded head_dim terms
  const T* values[kTiles];  // one tile of every panel, panels block_tokens terms apart
};

template <class T>
HWY_INLINE SpanView<T> ViewSpan(const AttentionArgs& args, const KVBlocks& table, size_t kv_head, size_t span_begin,
                                size_t visible_begin, size_t visible_end) {
  const KVGeometry& geometry = args.geometry;
  SpanView<T> span;
  span.begin = HWY_MAX(visible_begin, span_begin) - span_begin;
  span.end = HWY_MIN(visible_end, span_begin + kAttentionSpan) - span_begin;
  span.first_tile = span.begin / kTile;
  span.end_tile = (span.end + kTile - 1) / kTile;
  for (size_t tile = span.first_tile; tile < span.end_tile; ++tile) {
    const size_t position = span_begin + tile * kTile;
    const std::byte* block = table.blocks[position / geometry.block_tokens - table.first_block];
    const size_t slot = position % geometry.block_tokens;
    span.keys[tile] = KeysOf<T>(block, geometry, kv_head) + slot * RoundUp(geometry.head_dim, kTile);
    span.values[tile] = ValuesOf<T>(block, geometry, kv_head) + slot * kLanes;
  }
  return span;
}

// What kHeads query heads carry from span to span. About 5 KiB per head, on the stack.
template <size_t kHeads>
struct HeadStates {
  alignas(kAlignment) float query[kHeads][kMaxHeadDim];   // rounded to T, padded with zeros
  alignas(kAlignment) float output[kHeads][kMaxHeadDim];  // not yet divided by the sum
  alignas(kAlignment) float weights[kHeads][kAttentionSpan];  // scores, then probabilities rounded to T
  alignas(kAlignment) float sum[kHeads][kLanes];
  float max[kHeads];
};

template <class T>
HWY_INLINE void LoadQuery(const float* query, size_t head_dim, float* rounded) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  for (size_t i = 0; i < RoundUp(head_dim, kTile); i += step) {
    const FloatVec v = i + step <= head_dim ? hn::LoadU(tag, query + i)
                       : i < head_dim       ? hn::LoadN(tag, query + i, head_dim - i)
                                            : hn::Zero(tag);
    hn::Store(Rounded<T>(v), tag, rounded + i);
  }
}

// weights[h][i] = query[h] . key[i], for all positions of the visible tiles.
template <class T, size_t kHeads>
HWY_INLINE void ScoreSpan(const SpanView<T>& span, size_t head_dim, HeadStates<kHeads>& states) {
  constexpr size_t kTilePositionPanels = kTile / kLanes;
  constexpr size_t kPanels = HWY_MIN(kTilePositionPanels, kHeads == 1 ? kRowPanels : kTilePanels);
  const size_t padded = RoundUp(head_dim, kTile);
  for (size_t tile = span.first_tile; tile < span.end_tile; ++tile) {
    for (size_t panel = 0; panel < kTilePositionPanels; panel += kPanels) {
      const T* keys = span.keys[tile] + panel * kLanes * padded;
      // The sums of 16 or 32 positions stay in registers over the head dimension; queries and keys come from L1.
      Lanes sums[kHeads][kPanels];
      ClearSums(sums);
      for (size_t d = 0; d < padded; d += kTile) {
        AddTile(states.query[0] + d, kMaxHeadDim, keys + d * kLanes, kLanes * padded, 0, kTile, sums);
      }
      HWY_UNROLL(16)
      for (size_t h = 0; h < kHeads; ++h) {
        HWY_UNROLL(16)
        for (size_t p = 0; p < kPanels; ++p) {
          StoreLanes(sums[h][p], states.weights[h] + tile * kTile + (panel + p) * kLanes);
        }
      }
    }
  }
}

// Turns dot products into scores: scaled, capped, and minus infinity where invisible. Returns their maximum.
template <class T, bool kSoftcap>
HWY_INLINE float FinishScores(const AttentionArgs& args, const SpanView<T>& span, float* scores) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  const size_t begin = span.first_tile * kTile, end = span.end_tile * kTile;
  const float infinity = std::numeric_limits<float>::infinity();
  const FloatVec scale = hn::Set(tag, args.scale), cap = hn::Set(tag, args.softcap);
  for (size_t i = begin; i < end; i += step) {
    FloatVec score = hn::Mul(hn::Load(tag, scores + i), scale);
    if constexpr (kSoftcap) score = Capped(score, cap);
    hn::Store(score, tag, scores + i);
  }
  for (size_t i = begin; i < span.begin; ++i) scores[i] = -infinity;
  for (size_t i = span.end; i < end; ++i) scores[i] = -infinity;
  FloatVec max = hn::Set(tag, -infinity);
  for (size_t i = begin; i < end; i += step) max = hn::Max(max, hn::Load(tag, scores + i));
  return hn::ReduceMax(tag, max);
}

// Turns the dot products of one head into probabilities relative to the maximum so far, and adds them to `sum`.
// Returns the factor by which everything summed before shrinks.
template <class T, bool kSoftcap>
float SoftmaxSpan(const AttentionArgs& args, const SpanView<T>& span, float* weights, float* sum, float& max) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  const float span_max = FinishScores<T, kSoftcap>(args, span, weights);
  const float new_max = HWY_MAX(max, span_max);
  const FloatVec subtrahend = hn::Set(tag, new_max);
  const FloatVec correction = Exp(hn::Sub(hn::Set(tag, max), subtrahend));
  max = new_max;
  Lanes total = Mul(LoadLanes(sum), correction);
  for (size_t panel = span.first_tile * kTile; panel < span.end_tile * kTile; panel += kLanes) {
    for (size_t i = panel; i < panel + kLanes; i += step) {
      hn::Store(Exp(hn::Sub(hn::Load(tag, weights + i), subtrahend)), tag, weights + i);
    }
    total = Add(total, LoadLanes(weights + panel));
    for (size_t i = panel; i < panel + kLanes; i += step) {
      hn::Store(Rounded<T>(hn::Load(tag, weights + i)), tag, weights + i);
    }
  }
  StoreLanes(total, sum);
  return hn::GetLane(correction);
}

// SoftmaxSpan with or without softcap. A pointer, so that the rest of attention is compiled only once for both.
template <class T>
using SoftmaxFunction = float (*)(const AttentionArgs& args, const SpanView<T>& span, float* weights, float* sum,
                                  float& max);

// output[h] = output[h] * correction[h] + weights[h] . values, for kPanels panels of 16 elements.
template <size_t kPanels, class T, size_t kHeads>
HWY_INLINE void AddValuePanels(const SpanView<T>& span, size_t panel_stride, size_t panel, const float* corrections,
                               HeadStates<kHeads>& states) {
  Lanes sums[kHeads][kPanels];
  HWY_UNROLL(16)
  for (size_t h = 0; h < kHeads; ++h) {
    const FloatVec correction = hn::Set(FloatTag(), corrections[h]);
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      sums[h][p] = Mul(LoadLanes(states.output[h] + (panel + p) * kLanes), correction);
    }
  }
  // The sums stay in registers over the span.
  for (size_t tile = span.first_tile; tile < span.end_tile; ++tile) {
    const size_t tile_begin = tile * kTile;
    const size_t begin = HWY_MAX(span.begin, tile_begin) - tile_begin;
    const size_t end = HWY_MIN(span.end, tile_begin + kTile) - tile_begin;
    AddTile(states.weights[0] + tile_begin, kAttentionSpan, span.values[tile] + panel * panel_stride, panel_stride,
            begin, end, sums);
  }
  HWY_UNROLL(16)
  for (size_t h = 0; h < kHeads; ++h) {
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) StoreLanes(sums[h][p], states.output[h] + (panel + p) * kLanes);
  }
}

template <class T, size_t kHeads>
HWY_INLINE void AddValues(const SpanView<T>& span, const KVGeometry& geometry, const float* corrections,
                          HeadStates<kHeads>& states) {
  constexpr size_t kPanels = kHeads == 1 ? kRowPanels : kTilePanels;
  const size_t panel_stride = kLanes * geometry.block_tokens;
  const size_t panels = RoundUp(geometry.head_dim, kLanes) / kLanes;
  size_t panel = 0;
  for (; panel + kPanels <= panels; panel += kPanels) {
    AddValuePanels<kPanels>(span, panel_stride, panel, corrections, states);
  }
  if constexpr (kPanels > 1) {
    for (; panel < panels; ++panel) AddValuePanels<1>(span, panel_stride, panel, corrections, states);
  }
}

// Computes kHeads query heads of one row, beginning with `head`, that share one kv head.
template <class T, size_t kHeads>
void AttendHeads(const AttentionArgs& args, SoftmaxFunction<T> softmax_span, size_t row, size_t head) {
  const size_t head_dim = args.geometry.head_dim;
  const size_t kv_head = head / (args.heads / args.geometry.kv_heads);
  const KVBlocks& table = args.tables[args.sequences[row]];
  const size_t visible_end = size_t{args.positions[row]} + 1;
  const size_t visible_begin = args.window != 0 && visible_end > args.window ? visible_end - args.window : 0;

  HeadStates<kHeads> states;
  for (size_t h = 0; h < kHeads; ++h) {
    LoadQuery<T>(args.queries + row * args.query_stride + (head + h) * head_dim, head_dim, states.query[h]);
    for (size_t i = 0; i < RoundUp(head_dim, kLanes); ++i) states.output[h][i] = 0.0f;
    for (size_t i = 0; i < kLanes; ++i) states.sum[h][i] = 0.0f;
    states.max[h] = -std::numeric_limits<float>::infinity();
  }
  for (size_t span_begin = visible_begin / kAttentionSpan * kAttentionSpan; span_begin < visible_end;
       span_begin += kAttentionSpan) {
    const SpanView<T> span = ViewSpan<T>(args, table, kv_head, span_begin, visible_begin, visible_end);
    ScoreSpan(span, head_dim, states);
    float corrections[kHeads];
    for (size_t h = 0; h < kHeads; ++h) {
      corrections[h] = softmax_span(args, span, states.weights[h], states.sum[h], states.max[h]);
    }
    AddValues(span, args.geometry, corrections, states);
  }
  for (size_t h = 0; h < kHeads; ++h) {
    const float factor = 1.0f / TreeSum(LoadLanes(states.sum[h]));
    float* output = args.output + row * args.output_stride + (head + h) * head_dim;
    for (size_t i = 0; i < head_dim; ++i) output[i] = states.output[h][i] * factor;
  }
}

template <class T>
void AttendUnits(const AttentionArgs& args, SoftmaxFunction<T> softmax_span) {
  const size_t heads_per_kv = args.heads / args.geometry.kv_heads;
  for (size_t unit = args.unit_begin; unit < args.unit_end;) {
    const size_t row = unit / args.heads, head = unit % args.heads;
    const size_t sharing = heads_per_kv - head % heads_per_kv;
    if (HWY_MIN(sharing, args.unit_end - unit) >= kTileRows) {
      AttendHeads<T, kTileRows>(args, softmax_span, row, head);
      unit += kTileRows;
    } else {
      AttendHeads<T, 1>(args, softmax_span, row, head);
      ++unit;
    }
  }
}

template <class T>
void Attention(const AttentionArgs& args) {
  AttendUnits<T>(args, &SoftmaxSpan<T, false>);
}

template <class T>
void AttentionWithSoftcap(const AttentionArgs& args) {
  AttendUnits<T>(args, &SoftmaxSpan<T, true>);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_INL_TOGGLE
