// SPDX-License-Identifier: Apache-2.0
//
// Of which of two types each layer is, as lists of config.json name them: "layer_types" and the like.

#ifndef SKALD_FAMILIES_READERS_DETAIL_LAYER_TYPES_H_
#define SKALD_FAMILIES_READERS_DETAIL_LAYER_TYPES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/text/message.h"
#include "skald/families/config/usual_layer.h"

namespace skald::internal {

// Returns which of `count` layers are of type `marked`, where all others must be of type `other`; nothing if the file
// does not say, or says it wrongly.
inline std::optional<LayerFlags> ReadLayerTypes(const JsonFields& fields, const char* name, size_t count,
                                                std::string_view other, std::string_view marked) {
  const nlohmann::json* const types = fields.Find(name);
  if (types == nullptr) return std::nullopt;
  if (!types->is_array() || types->size() != count) {
    fields.WrongValue(name, *types, "an array of num_hidden_layers names");
    return std::nullopt;
  }
  LayerFlags flags;
  for (const nlohmann::json& type : *types) {
    flags.push_back(type == nlohmann::json(marked));
    if (flags.back() || type == nlohmann::json(other)) continue;
    fields.Unsupported(name, type, Concat({"\"", other, "\" and \"", marked, "\""}));
  }
  return flags;
}

// Returns which layers have a window.
inline std::optional<LayerFlags> ReadSlidingLayers(const JsonFields& fields, size_t count) {
  return ReadLayerTypes(fields, "layer_types", count, "full_attention", "sliding_attention");
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_LAYER_TYPES_H_
