// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/model_spec.h.

#ifndef SKALD_LAYERS_DETAIL_MODEL_SPEC_H_
#define SKALD_LAYERS_DETAIL_MODEL_SPEC_H_

#include "skald/layers/model_spec.h"

#include <algorithm>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"

namespace skald {

SKALD_INLINE size_t CarriedDim(const ModelSpec& spec) {
  int widest = 0;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const auto rows = layer.Carried()) widest = std::max(widest, rows->width);
    }
  }
  return static_cast<size_t>(widest);
}

SKALD_INLINE std::vector<std::optional<LayerSlot>> SlotsOf(const ModelSpec& spec, const CacheLayout& layout) {
  std::vector<std::optional<LayerSlot>> slots, of_numbers(NumLayers(spec));
  size_t stateful = 0;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      std::optional<LayerSlot>& slot = slots.emplace_back();
      if (const auto shared = layer.StateOfOther()) slot = of_numbers[shared->layer];
      if (!layer.State()) continue;
      slot = layout.layers()[stateful++];
      if (layout.groups()[slot->group].is_recurrent()) continue;
      of_numbers[block.number] = slot;
    }
  }
  return slots;
}

namespace internal {

// Whether a rank's part of a layer has or reads its state as layers of the group `keeps` do.
constexpr bool FitsItsGroup(const LayerSpec& layer, const RankShare& share, const CacheGroup& keeps) {
  const LayerSpec part = layer.OfRank(share);
  if (const auto shared = part.StateOfOther()) return shared->state.kv_heads == keeps.kv_heads;
  const CacheGroup kept = PartOfState(layer, share);
  return kept.kv_heads == keeps.kv_heads && kept.state_floats == keeps.state_floats &&
         kept.input_floats == keeps.input_floats && kept.state_floats == part.State()->state_floats;
}

}  // namespace internal

SKALD_INLINE const char* WhyNotForRanks(const ModelSpec& spec, const RankShare& share) {
  const CacheLayout layout = LayoutOf(spec, share);
  const auto slots = SlotsOf(spec, layout);
  auto slot = slots.begin();
  int carried = 0;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const std::optional<LayerSlot>& at = *slot++;
      if (at && !internal::FitsItsGroup(layer, share, layout.groups()[at->group])) {
        return "Layers that keep or read the same state are partitioned to ranks in different ways.";
      }
      const std::optional<CarriedRows> rows = layer.OfRank(share).Carried();
      if (rows && rows->gives) carried = rows->width;
      if (rows && rows->width != carried)
        return "Layers that give and read rows are partitioned to ranks in different ways.";
    }
  }
  return nullptr;
}

SKALD_INLINE float EmbeddingFactor(const ModelSpec& spec) {
  if (spec.embedding_scale == EmbeddingScale::kNone) return spec.embedding_multiplier;
  const float scale = std::sqrt(static_cast<float>(spec.model_dim));
  const bool is_rounded = spec.embedding_scale == EmbeddingScale::kRoundedSqrt;
  return spec.embedding_multiplier * (is_rounded ? ToFloat(FromFloat<bf16>(scale)) : scale);
}

}  // namespace skald

#endif  // SKALD_LAYERS_DETAIL_MODEL_SPEC_H_
