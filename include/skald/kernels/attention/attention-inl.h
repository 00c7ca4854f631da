// SPDX-License-Identifier: Apache-2.0
//
// Attention over cached blocks (arithmetic contract, R5): scores and outputs are two multiplications in the order of
// R1, joined by an online softmax over fixed spans of positions. Query heads that share a kv head, and neighbouring
// rows of one sequence, are computed together, so that keys and values are read once for all of them. Results do not
// depend on that, nor on the cache's block size. Invisible positions never reach a sum, whatever bytes they hold.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_INL_TOGGLE
#endif

#include <cstddef>
#include <limits>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/attention/attention_codes-inl.h"
#include "skald/kernels/attention/attention_latents-inl.h"
#include "skald/kernels/attention/attention_product-inl.h"
#include "skald/kernels/attention/attention_softmax-inl.h"
#include "skald/kernels/attention/kv-inl.h"
#include "skald/kernels/simd/amx-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Queries of one kv head that are computed together, in rows of one sequence with consecutive positions. Query i is
// head i % group of the kv head's `group` query heads in row first_row + i / group.
struct Queries {
  size_t kv_head, group, first_row;
  size_t begin, end;
  size_t next_end;  // queries [end, next_end) will be computed next

  HWY_INLINE size_t size() const { return end - begin; }
  HWY_INLINE size_t Row(size_t i) const { return first_row + i / group; }
  HWY_INLINE size_t Head(size_t i) const { return kv_head * group + i % group; }
};

// Prefetches the numbers of a query that will be computed soon and the place of its output: rows are so far apart that
// the processor does not predict them.
HWY_INLINE void PrefetchQuery(const AttentionArgs& args, const Queries& queries, size_t i) {
  const size_t head_dim = args.geometry.head_dim, value_dim = args.geometry.value_dim();
  const float* const query = args.queries + queries.Row(i) * args.query_stride + queries.Head(i) * head_dim;
  const float* const output = args.output + queries.Row(i) * args.output_stride + queries.Head(i) * value_dim;
  for (size_t d = 0; d < head_dim; d += kLanes) hwy::Prefetch(query + d);
  for (size_t d = 0; d < value_dim; d += kLanes) hwy::Prefetch(output + d);
}

HWY_INLINE Positions VisibleTo(const AttentionArgs& args, size_t row) {
  const size_t begin = args.FirstVisible(row), end = size_t{args.positions[row]} + 1;
  if (args.lengths == nullptr) return {begin, end};
  const size_t length = args.lengths[args.sequences[row]];
  return {begin, args.window == 0 ? length : HWY_MIN(length, end - 1 + args.window)};
}

// The addend of the scores of a query, at the key of position 0; null without one.
HWY_INLINE const float* BiasOf(const AttentionArgs& args, size_t row, size_t head) {
  if (args.bias == nullptr) return nullptr;
  return args.bias + head * (2 * args.bias_reach + 1) + args.bias_reach - args.positions[row];
}

// The positions that at least one of the queries sees.
HWY_INLINE Positions VisibleToAny(const AttentionArgs& args, const Queries& queries) {
  return {VisibleTo(args, queries.Row(queries.begin)).begin, VisibleTo(args, queries.Row(queries.end - 1)).end};
}

// Queries of one block: 32 of heads up to 256, and 16 of larger ones.
inline constexpr size_t kMaxBlockRows = 2 * kTileOfRows, kMaxBlockTerms = kTileOfRows * kMaxHeadDim;
static_assert(kMaxBlockRows * 256 <= kMaxBlockTerms);

HWY_INLINE size_t MaxBlockRows(size_t head_dim) { return head_dim <= 256 ? kMaxBlockRows : kTileOfRows; }

// The state of a block of queries from span to span. E is the type of operands (attention_product-inl.h). At most 120
// KiB, on the stack.
template <class E>
struct BlockState {
  alignas(kAlignment) E query_tiles[kMaxBlockTerms];
  alignas(kAlignment) E weight_tiles[kMaxBlockRows * kAttentionSpan];
  alignas(kAlignment) float score_tiles[kMaxBlockRows / kTileOfRows * kAttentionSpan / kLanes * kSumTile];
  alignas(kAlignment) float output_tiles[kMaxBlockTerms / (kTileOfRows * kLanes) * kSumTile];
  alignas(kAlignment) float sum[kMaxBlockRows][kLanes];
  alignas(kAlignment) float max[kMaxBlockRows], correction[kMaxBlockRows];
  Positions visible[kMaxBlockRows];
  const float* bias[kMaxBlockRows];                   // BiasOf
  const float* value_scales[kAttentionSpan / kTile];  // of one span, if the cache holds codes
  size_t rows, computed_rows;

  Operand<E> query;    // rounded to the cache's type (bfloat16 for codes), padded with zeros
  Operand<E> weights;  // of one span: probabilities rounded likewise
  Sums scores;         // of one span
  Sums output;         // not yet divided by the sum
};

template <class T, class E>
HWY_INLINE void LoadQuery(const float* query, size_t head_dim, const Operand<E> to, size_t row) {
  const FloatTag tag;
  E* tile = to.Row(row);
  for (size_t begin = 0; begin < to.terms; begin += kTile, tile += kOperandTile) {
    for (size_t i = 0; i < kTile; i += hn::Lanes(tag)) {
      const size_t at = begin + i;
      const FloatVec v = at < head_dim ? LoadUpTo(query + at, head_dim - at) : hn::Zero(tag);
      if constexpr (std::is_same_v<E, float>) {
        hn::Store(Rounded<T>(v), tag, tile + i);
      } else {
        StoreRounded<E>(v, tile + i);
      }
    }
    OrderOperandRow(tile);
  }
}

template <class T, class E>
void BeginBlock(const AttentionArgs& args, const Queries& queries, BlockState<E>& state) {
  const size_t head_dim = args.geometry.head_dim;
  state.rows = queries.size();
  state.computed_rows = ComputedRows(state.query_tiles, state.rows);
  state.query = {state.query_tiles, RoundUp(head_dim, kTile)};
  state.weights = {state.weight_tiles, kAttentionSpan};
  state.scores = {state.score_tiles, kAttentionSpan / kLanes};
  state.output = {state.output_tiles, RoundUp(args.geometry.value_dim(), kLanes) / kLanes};
  for (size_t r = 0; r < state.rows; ++r) {
    const size_t row = queries.Row(queries.begin + r), head = queries.Head(queries.begin + r);
    LoadQuery<T>(args.queries + row * args.query_stride + head * head_dim, head_dim, state.query, r);
    state.visible[r] = VisibleTo(args, row);
    state.bias[r] = BiasOf(args, row, head);
  }
  for (size_t r = state.rows; r < state.computed_rows; ++r) {
    LoadQuery<T>(nullptr, 0, state.query, r);
    for (size_t tile = 0; tile < kAttentionSpan / kTile; ++tile) {
      StoreWeights<T>(ZeroLanes(), ZeroLanes(), state.weights.Row(r) + tile * kOperandTile);
    }
  }
  for (size_t r = 0; r < state.computed_rows; ++r) StoreLanes(ZeroLanes(), state.sum[r]);
  for (float& max : state.max) max = -std::numeric_limits<float>::infinity();
  if (args.sinks == nullptr) return;
  for (size_t r = 0; r < state.rows; ++r) {
    state.max[r] = args.sinks[queries.Head(queries.begin + r)];
    state.sum[r][0] = 1.0f;
  }
}

HWY_INLINE const std::byte* BlockOf(const AttentionArgs& args, const KVBlocks& table, size_t position) {
  return table.blocks[position / args.geometry.block_tokens - table.first_block];
}

// The keys of the tile of positions that begins at `position`: [kTile / kLanes] panels of padded head_dim terms.
template <class T>
HWY_INLINE const T* KeyTile(const AttentionArgs& args, const KVBlocks& table, size_t kv_head, size_t position) {
  const KVGeometry& geometry = args.geometry;
  const std::byte* const block = BlockOf(args, table, position);
  return KeysOf<T>(block, geometry, kv_head) + position % geometry.block_tokens * RoundUp(geometry.head_dim, kTile);
}

// Its values: one tile of the first panel. Panels are kLanes * block_tokens apart.
template <class T>
HWY_INLINE const T* ValueTile(const AttentionArgs& args, const KVBlocks& table, size_t kv_head, size_t position) {
  const KVGeometry& geometry = args.geometry;
  const std::byte* const block = BlockOf(args, table, position);
  return ValuesOf<T>(block, geometry, kv_head) + position % geometry.block_tokens * kLanes;
}

// scores[r, i] = query[r] . key[i], for all positions of the tiles of `span`; for codes times the key's scale.
// Prefetches the next span, up to position `ahead_end`.
template <class T, class E>
HWY_INLINE void ScoreSpan(const AttentionArgs& args, const KVBlocks& table, size_t kv_head, size_t span_begin,
                          const Positions& span, size_t ahead_end, BlockState<E>& state) {
  const size_t padded = state.query.terms;
  PackedTiles<T> keys = {.tiles = {}, .ahead = {}, .panel_stride = kLanes * padded, .begin = 0, .end = padded};
  for (size_t tile = span.first_tile(); tile < span.end_tile(); ++tile) {
    const T* const first = KeyTile<T>(args, table, kv_head, span_begin + tile * kTile);
    const size_t next = span_begin + kAttentionSpan + tile * kTile;
    const T* const ahead = next < ahead_end ? KeyTile<T>(args, table, kv_head, next) : nullptr;
    for (size_t k = 0; k < padded / kTile; ++k) {
      keys.tiles[k] = first + k * kTile * kLanes;
      keys.ahead[k] = ahead == nullptr ? nullptr : ahead + k * kTile * kLanes;
    }
    constexpr size_t kPanels = kTile / kLanes;
    const Sums scores = {state.scores.tiles + tile * kPanels * kSumTile, state.scores.panels};
    AddProducts(/*from_zero=*/true, state.query, state.computed_rows, keys, kPanels, scores);
    if constexpr (kDTypeOf<T> == DType::kI8) {
      const KVGeometry& geometry = args.geometry;
      const std::byte* const block = BlockOf(args, table, span_begin + tile * kTile);
      const size_t slot = (span_begin + tile * kTile) % geometry.block_tokens;
      ScaleScores(KeyScalesOf(block, geometry, kv_head) + slot, state.rows, scores);
      state.value_scales[tile] =
          (geometry.latent_dim != 0 ? KeyScalesOf(block, geometry, kv_head) : ValueScalesOf(block, geometry, kv_head)) +
          slot;
    }
  }
}

// Turns the scores of all queries into probabilities, and sets the factors by which all earlier sums shrink. A query
// that sees nothing of the span is unchanged. This computes long enough for a prefetch of the next queries.
template <class T, class E>
HWY_INLINE void SoftmaxSpan(const AttentionArgs& args, FinishFunction finish_scores, const Queries& queries,
                            size_t span_begin, const Positions& span, BlockState<E>& state) {
  const FloatTag tag;
  alignas(kAlignment) float new_max[kMaxBlockRows] = {};
  finish_scores(args, span_begin, state.visible, state.bias, state.rows, state.scores, state.max, new_max);
  for (size_t r = 0; r < state.rows; r += hn::Lanes(tag)) {
    const FloatVec change = hn::Sub(hn::Load(tag, state.max + r), hn::Load(tag, new_max + r));
    hn::Store(ExpNonPositive(change), tag, state.correction + r);
  }
  const bool is_first_span = span_begin <= state.visible[0].begin;
  for (size_t r = 0; r < state.rows; ++r) {
    if (is_first_span && queries.end + r < queries.next_end) PrefetchQuery(args, queries, queries.end + r);
    const Positions visible = state.visible[r].In(span_begin);
    if (visible.empty()) state.correction[r] = 1.0f;
    state.max[r] = new_max[r];
    WeighSpan<T>(span, visible, state.scores.Row(r), state.value_scales, new_max[r], state.correction[r],
                 state.weights.Row(r), state.sum[r]);
  }
}

// output[r] *= correction[r].
template <class E>
HWY_INLINE void CorrectOutput(const BlockState<E>& state) {
  const Sums output = state.output;
  for (size_t r = 0; r < state.rows; ++r) {
    if (state.correction[r] == 1.0f) continue;
    const FloatVec correction = hn::Set(FloatTag(), state.correction[r]);
    float* sums = output.Row(r);
    for (size_t panel = 0; panel < output.panels; ++panel, sums += kSumTile) {
      StoreLanes(Mul(LoadLanes(sums), correction), sums);
    }
  }
}

// output[r] += weights[r] . values, from zero in the first span.
template <class T, class E>
HWY_INLINE void AddValues(bool is_first_span, const AttentionArgs& args, const KVBlocks& table, size_t kv_head,
                          size_t span_begin, const Positions& span, size_t ahead_end, BlockState<E>& state) {
  PackedTiles<T> values = {.tiles = {},
                           .ahead = {},
                           .panel_stride = kLanes * args.geometry.block_tokens,
                           .begin = span.begin,
                           .end = span.end};
  for (size_t tile = span.first_tile(); tile < span.end_tile(); ++tile) {
    values.tiles[tile] = ValueTile<T>(args, table, kv_head, span_begin + tile * kTile);
    const size_t next = span_begin + kAttentionSpan + tile * kTile;
    if (next < ahead_end) values.ahead[tile] = ValueTile<T>(args, table, kv_head, next);
  }
  AddProducts(is_first_span, state.weights, state.computed_rows, values, state.output.panels, state.output);
}

// AddValues for values that are elements of keys.
template <class T, class E>
HWY_INLINE void AddLatents(bool is_first_span, const AttentionArgs& args, const KVBlocks& table, size_t kv_head,
                           size_t span_begin, const Positions& span, BlockState<E>& state) {
  const size_t head_dim = args.geometry.head_dim, first = head_dim - args.geometry.latent_dim;
  alignas(kAlignment) T panels[kLatentPanels * kLanes * kAttentionSpan];
  PackedTiles<T> values = {
      .tiles = {}, .ahead = {}, .panel_stride = kLanes * kAttentionSpan, .begin = span.begin, .end = span.end};
  for (size_t tile = span.first_tile(); tile < span.end_tile(); ++tile) {
    values.tiles[tile] = panels + tile * kTile * kLanes;
  }
  for (size_t panel = 0; panel < state.output.panels; panel += kLatentPanels) {
    const size_t count = HWY_MIN(kLatentPanels, state.output.panels - panel);
    for (size_t tile = span.first_tile(); tile < span.end_tile(); ++tile) {
      const T* const keys = KeyTile<T>(args, table, kv_head, span_begin + tile * kTile);
      for (size_t p = 0; p < count; ++p) {
        T* const to = panels + p * values.panel_stride + tile * kTile * kLanes;
        for (size_t slot = 0; slot < kTile; slot += kLanes) {
          TurnPanel(keys + slot * state.query.terms, first + (panel + p) * kLanes, head_dim, to + slot * kLanes);
        }
      }
    }
    AddProducts(is_first_span, state.weights, state.computed_rows, values, count,
                Sums{state.output.tiles + panel * kSumTile, state.output.panels});
  }
}

template <class T, class E>
void AttendBlock(const AttentionArgs& args, FinishFunction finish_scores, const Queries& queries) {
  BlockState<E> state;
  BeginBlock<T>(args, queries, state);
  const KVBlocks& table = args.tables[args.sequences[queries.first_row]];
  const Positions visible = VisibleToAny(args, queries);
  // One row reads keys and values from memory: hardware prefetchers do not follow blocks, layers and heads. For many
  // rows they are in a cache.
  const size_t ahead_end = queries.size() <= queries.group ? visible.end : 0;
  for (size_t begin = visible.begin / kAttentionSpan * kAttentionSpan; begin < visible.end; begin += kAttentionSpan) {
    const Positions span = visible.In(begin);
    ScoreSpan<T>(args, table, queries.kv_head, begin, span, ahead_end, state);
    SoftmaxSpan<T>(args, finish_scores, queries, begin, span, state);
    const bool is_first_span = begin <= state.visible[0].begin;
    if (!is_first_span) CorrectOutput(state);
    if (args.geometry.latent_dim != 0) {
      AddLatents<T>(is_first_span, args, table, queries.kv_head, begin, span, state);
    } else {
      AddValues<T>(is_first_span, args, table, queries.kv_head, begin, span, ahead_end, state);
    }
  }
  const size_t value_dim = args.geometry.value_dim();
  for (size_t r = 0; r < state.rows; ++r) {
    const FloatVec factor = hn::Set(FloatTag(), 1.0f / TreeSum(LoadLanes(state.sum[r])));
    float* const output =
        args.output + queries.Row(queries.begin + r) * args.output_stride + queries.Head(queries.begin + r) * value_dim;
    for (size_t panel = 0; panel < state.output.panels; ++panel) {
      const size_t i = panel * kLanes;
      StoreLanes(Mul(LoadLanes(state.output.Row(r) + panel * kSumTile), factor), output + i,
                 HWY_MIN(kLanes, value_dim - i));
    }
  }
}

// Whether the values of the tiles that hold `positions` are all finite.
template <class T>
bool AreFinite(const AttentionArgs& args, const KVBlocks& table, size_t kv_head, const Positions& positions) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint16_t>;
  const hn::CappedTag<Bits, kLanes> tag;
  // An exponent of ones makes a number infinite or NaN.
  const auto exponent = hn::Set(tag, static_cast<Bits>(std::is_same_v<T, float> ? 0x7F800000u : 0x7F80u));
  auto smallest = exponent;
  const bool in_keys = args.geometry.latent_dim != 0;
  const size_t dim = in_keys ? RoundUp(args.geometry.head_dim, kTile) : args.geometry.head_dim;
  const size_t stride = in_keys ? kTile : args.geometry.block_tokens;
  for (size_t tile = positions.first_tile(); tile < positions.end_tile(); ++tile) {
    const T* const values = in_keys ? KeyTile<T>(args, table, kv_head, tile * kTile)  // all of them
                                    : ValueTile<T>(args, table, kv_head, tile * kTile);
    for (size_t d = 0; d < dim; d += kLanes) {
      const Bits* const bits = reinterpret_cast<const Bits*>(values + d * stride);
      for (size_t i = 0; i < kTile * kLanes; i += hn::Lanes(tag)) {
        smallest = hn::Min(smallest, hn::AndNot(hn::Load(tag, bits + i), exponent));
      }
    }
  }
  return hn::AllFalse(tag, hn::Eq(smallest, hn::Zero(tag)));
}

// Whether the queries may be multiplied by whole tiles of values, though not each sees all of their positions: a
// probability of zero changes no sum unless the value is infinite or NaN, which codes never are.
template <class T>
bool InvisibleValuesAreFinite(const AttentionArgs& args, const Queries& queries) {
  if constexpr (kDTypeOf<T> == DType::kI8) {
    return true;
  } else {
    const KVBlocks& table = args.tables[args.sequences[queries.first_row]];
    const Positions first = VisibleTo(args, queries.Row(queries.begin));
    const Positions last = VisibleTo(args, queries.Row(queries.end - 1));
    return AreFinite<T>(args, table, queries.kv_head, {first.begin, last.begin}) &&
           AreFinite<T>(args, table, queries.kv_head, {first.end, last.end});
  }
}

// Computes at most MaxBlockRows queries.
template <class T>
void AttendQueries(const AttentionArgs& args, FinishFunction finish_scores, const Queries& queries) {
  const bool finite = InvisibleValuesAreFinite<T>(args, queries);
  if (!finite && RoundUp(queries.begin + 1, queries.group) < queries.end) {
    // Row by row: queries of one row see the same positions, and no other positions need to be read.
    Queries row = queries;
    for (; row.begin < queries.end; row.begin = row.end) {
      row.end = HWY_MIN(RoundUp(row.begin + 1, queries.group), queries.end);
      AttendQueries<T>(args, finish_scores, row);
    }
    return;
  }
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  if constexpr (!std::is_same_v<T, float>) {
    if (finite && queries.size() > 1 && HaveAmx()) {
      SetTileShapes();
      AttendBlock<T, bf16>(args, finish_scores, queries);
      return ReleaseTiles();
    }
  }
#elif HWY_TARGET == HWY_AVX3_ZEN4
  if constexpr (!std::is_same_v<T, float>) {
    if (finite && queries.size() > 1) return AttendBlock<T, bf16>(args, finish_scores, queries);
  }
#endif
  AttendBlock<T, float>(args, finish_scores, queries);
}

// Returns the end of the rows that continue row `first`: the same sequence, consecutive positions.
HWY_INLINE size_t EndOfRun(const AttentionArgs& args, size_t first) {
  size_t end = first + 1;
  while (end < args.rows && args.sequences[end] == args.sequences[first] &&
         args.positions[end] == args.positions[first] + (end - first)) {
    ++end;
  }
  return end;
}

template <class T>
void AttendUnits(const AttentionArgs& args, FinishFunction finish_scores) {
  const size_t group = args.heads / args.geometry.kv_heads;
  const size_t max_size = MaxBlockRows(args.geometry.head_dim);
  for (size_t unit = args.unit_begin, run_end; unit < args.unit_end; unit = run_end) {
    const size_t kv_head = unit / (args.rows * group), row = unit / group % args.rows;
    run_end = HWY_MIN((kv_head * args.rows + EndOfRun(args, row)) * group, args.unit_end);
    const size_t end = unit % group + (run_end - unit);
    Queries queries{kv_head, group, row, unit % group, 0, 0};
    for (; queries.begin < end; queries.begin = queries.end) {
      queries.end = HWY_MIN(queries.begin + max_size, end);
      queries.next_end = HWY_MIN(queries.end + max_size, end);
      AttendQueries<T>(args, finish_scores, queries);
    }
  }
}

template <class T>
void Attention(const AttentionArgs& args) {
  AttendUnits<T>(args, args.bias != nullptr  ? &FinishScores<ScoreChange::kBias>
                       : args.softcap > 0.0f ? &FinishScores<ScoreChange::kSoftcap>
                                             : &FinishScores<ScoreChange::kNone>);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_INL_TOGGLE
