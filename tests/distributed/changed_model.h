// SPDX-License-Identifier: Apache-2.0
//
// Small models whose layers of one type are others.

#ifndef SKALD_TESTS_DISTRIBUTED_CHANGED_MODEL_H_
#define SKALD_TESTS_DISTRIBUTED_CHANGED_MODEL_H_

#include <string_view>

#include "skald/families/readers/detail/change_layers.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "tests/support/small_models.h"

namespace skald::testing {

// Returns the small model of that name after change(layer) of every layer of type L.
template <Layer L, class Change>
SmallModel ChangedModel(std::string_view name, Change change) {
  SmallModel small = SmallModelNamed(name);
  internal::ChangeLayers<L>(small.spec, change);
  small.layout = LayoutOf(small.spec);
  return small;
}

// Delta nets whose key heads, four, serve value heads that are apart.
inline SmallModel TiledDeltaNets() {
  return ChangedModel<GatedDeltaNet>("delta-nets", [](GatedDeltaNet& layer) {
    layer.key_heads = 4, layer.value_heads = 12;
    layer.tiled = true;
  });
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_DISTRIBUTED_CHANGED_MODEL_H_
