// SPDX-License-Identifier: Apache-2.0
//
// Changes layers of a model that the short form has no member for.

#ifndef SKALD_FAMILIES_READERS_DETAIL_CHANGE_LAYERS_H_
#define SKALD_FAMILIES_READERS_DETAIL_CHANGE_LAYERS_H_

#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald::internal {

// Calls change(layer) with every layer of type L.
template <Layer L, class Change>
void ChangeLayers(ModelSpec& spec, Change change) {
  for (Block& block : spec.blocks) {
    for (LayerSpec& layer : block.layers) {
      const L* const found = layer.As<L>();
      if (found == nullptr) continue;
      L changed = *found;
      change(changed);
      layer = changed;
    }
  }
}

// Gives queries and keys a LayerNorm of each head, with factors of its own.
inline void NormalizeEachHead(float epsilon, ModelSpec& spec) {
  ChangeLayers<Attention>(spec, [epsilon](Attention& attention) {
    attention.head_norm = LayerNorm{.epsilon = epsilon, .weight = false, .bias = false};
    attention.head_factors = true;
  });
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_CHANGE_LAYERS_H_
