// SPDX-License-Identifier: Apache-2.0
//
// Which layers attend within a window, as "layer_types" of config.json says for each.

#ifndef SKALD_FAMILIES_READERS_DETAIL_SLIDING_LAYERS_H_
#define SKALD_FAMILIES_READERS_DETAIL_SLIDING_LAYERS_H_

#include <cstddef>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/usual_layer.h"

namespace skald::internal {

// Returns which layers slide: `slides`, one for each layer, where the file does not say.
inline LayerFlags ReadSlidingLayers(const JsonFields& fields, LayerFlags slides) {
  const nlohmann::json* const types = fields.Find("layer_types");
  if (types == nullptr) return slides;
  if (!types->is_array() || types->size() != slides.size()) {
    fields.WrongValue("layer_types", *types, "an array of num_hidden_layers names");
    return slides;
  }
  for (size_t i = 0; i < slides.size(); ++i) {
    slides[i] = (*types)[i] == nlohmann::json("sliding_attention");
    if (slides[i] || (*types)[i] == nlohmann::json("full_attention")) continue;
    fields.Unsupported("layer_types", (*types)[i], R"("full_attention" and "sliding_attention")");
  }
  return slides;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_SLIDING_LAYERS_H_
