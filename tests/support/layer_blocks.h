// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a model by the layers that checkpoints count, for models of the usual form: a layer is a block of its
// mixer, then one of its feed-forward layer if it has one.

#ifndef SKALD_TESTS_SUPPORT_LAYER_BLOCKS_H_
#define SKALD_TESTS_SUPPORT_LAYER_BLOCKS_H_

#include <algorithm>
#include <cstddef>

#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"

namespace skald::testing {

inline bool IsFeedForward(const Block& block) { return block.layers[0].As<GatedFeedForward>() != nullptr; }

inline bool HasFeedForward(const ModelSpec& spec) { return std::ranges::any_of(spec.blocks, IsFeedForward); }

// Returns where in spec.blocks a layer's mixer or its feed-forward layer is, which must be there.
inline size_t FindBlock(const ModelSpec& spec, size_t layer, bool feed_forward) {
  const auto found = std::ranges::find_if(
      spec.blocks, [&](const Block& block) { return block.number == layer && IsFeedForward(block) == feed_forward; });
  return static_cast<size_t>(found - spec.blocks.begin());
}

inline const BlockWeights& MixerOf(const ModelWeights& weights, size_t layer) {
  return weights.blocks.at(FindBlock(weights.spec, layer, /*feed_forward=*/false));
}
inline const BlockWeights& FeedForwardOf(const ModelWeights& weights, size_t layer) {
  return weights.blocks.at(FindBlock(weights.spec, layer, /*feed_forward=*/true));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_LAYER_BLOCKS_H_
