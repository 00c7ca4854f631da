// SPDX-License-Identifier: Apache-2.0
//
// The parts of attention that differ for a cache of int8 codes (arithmetic contract, R5). Codes are multiplied as
// bfloat16 numbers, which represent them exactly; the scales of keys multiply dot products, those of values
// probabilities.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_CODES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_CODES_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_CODES_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_CODES_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/attention/attention_product-inl.h"
#include "skald/kernels/simd/int8-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Tiles of codes that are widened at a time: as bfloat16 they fit into a small L1 beside the rows.
inline constexpr size_t kWidenedTiles = PackedTiles<int8_t>::kMaxTiles;

// AddProducts over codes. A single row widens them in registers; several rows multiply codes that were widened once for
// all.
template <class E>
void AddProducts(bool from_zero, const Operand<E>& x, size_t rows, const PackedTiles<int8_t>& codes, size_t panels,
                 const Sums& sums) {
  if constexpr (std::is_same_v<E, float>) {
    if (rows == 1) return AddPanels<1, kRowPanels>(from_zero, x, rows, codes, panels, sums);
  }
  constexpr size_t kTileSize = kTile * kLanes;
  alignas(kAlignment) uint16_t memory[kWidenedTiles * kTileSize];  // an array of bf16 would be cleared first
  bf16* const widened = reinterpret_cast<bf16*>(memory);
  const size_t first = codes.begin / kTile, end = (codes.end + kTile - 1) / kTile, tiles = end - first;
  const size_t step = kWidenedTiles / tiles;
  PackedTiles<bf16> part = {
      .tiles = {}, .ahead = {}, .panel_stride = tiles * kTileSize, .begin = codes.begin, .end = codes.end};
  for (size_t tile = first; tile < end; ++tile) part.tiles[tile] = widened + (tile - first) * kTileSize;
  for (size_t panel = 0; panel < panels; panel += step) {
    const size_t count = HWY_MIN(step, panels - panel);
    for (size_t p = 0; p < count; ++p) {
      for (size_t tile = first; tile < end; ++tile) {
        const size_t at = (panel + p) * codes.panel_stride;
        for (size_t i = 0; codes.ahead[tile] != nullptr && i < kTileSize; i += kAlignment) {
          hwy::Prefetch(codes.ahead[tile] + at + i);
        }
        WidenCodes(codes.tiles[tile] + at, kTile, widened + (p * tiles + tile - first) * kTileSize);
      }
    }
    AddProducts(from_zero, x, rows, part, count, {sums.tiles + panel * kSumTile, sums.panels});
  }
}

// Multiplies the scores of one tile of positions by the scales of their keys, [kTile].
HWY_INLINE void ScaleScores(const float* scales, size_t rows, const Sums& scores) {
  for (size_t panel = 0; panel < kTile / kLanes; ++panel) {
    const Lanes factors = LoadLanes(scales + panel * kLanes);
    for (size_t r = 0; r < rows; ++r) {
      float* const row = scores.Row(r) + panel * kSumTile;
      StoreLanes(Mul(LoadLanes(row), factors), row);
    }
  }
}

// Returns the probabilities times the scales of their positions' values; zero probabilities stay zero, because the
// scale of an invisible position is arbitrary.
HWY_INLINE Lanes ScaledWeights(const Lanes& probabilities, const float* scales) {
  Lanes result = Mul(probabilities, LoadLanes(scales));
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const auto nothing = hn::Eq(Part(probabilities, i), hn::Zero(FloatTag()));
    SetPart(result, i, hn::IfThenZeroElse(nothing, Part(result, i)));
  }
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_CODES_INL_TOGGLE
