// SPDX-License-Identifier: Apache-2.0
//
// Reads the rotary position embeddings that a config.json describes, in the spellings of versions 4 and 5 of the
// transformers library.

#ifndef SKALD_CONFIGS_READERS_CONFIG_JSON_ROPE_H_
#define SKALD_CONFIGS_READERS_CONFIG_JSON_ROPE_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "skald/base/json/json_fields.h"
#include "skald/configs/form/layer.h"
#include "skald/configs/form/short_form.h"

namespace skald::internal {

inline void RefusePartialRope(const JsonFields& fields) {
  constexpr const char* kName = "partial_rotary_factor";
  if (fields.Positive(kName, 1.0) != 1.0) fields.Unsupported(kName, *fields.Find(kName), "1");
}

// Reads a RoPE from the object that holds its type and the parameters of that type, and sometimes its base.
inline RopeSpec ReadRope(const JsonFields& fields, double base) {
  RefusePartialRope(fields);
  RopeSpec rope = {.base = fields.Positive("rope_theta", base)};
  const char* type_name = fields.Find("rope_type") != nullptr ? "rope_type" : "type";  // older files
  const std::string type = fields.String(type_name, NameOf(RopeScaling::kNone));
  if (type == NameOf(RopeScaling::kNone)) return rope;
  if (type == NameOf(RopeScaling::kLinear)) {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == NameOf(RopeScaling::kLlama3)) {
    rope.scaling = RopeScaling::kLlama3;
    rope.low_frequency_factor = fields.Positive("low_freq_factor");
    rope.high_frequency_factor = fields.Positive("high_freq_factor");
    rope.original_context = fields.Positive("original_max_position_embeddings");
  } else {
    fields.Unsupported(type_name, type, R"("default", "linear" and "llama3")");
  }
  rope.factor = fields.Positive("factor");
  return rope;
}

// Replaces the family's RoPEs in `a` by those of the file. Version 4 of transformers has "rope_theta",
// "rope_scaling" and, for the sliding layers, "rope_local_base_freq"; version 5 has "rope_parameters" with
// all of it, in families with two RoPEs as one object for each of the layer types.
inline void ReadRopes(const JsonFields& fields, ShortForm& a) {
  RefusePartialRope(fields);
  const double base = fields.Positive("rope_theta", a.rope.base);
  std::optional<JsonFields> full = fields.Object("rope_scaling");
  std::optional<JsonFields> sliding;
  if (const std::optional<JsonFields> parameters = fields.Object("rope_parameters")) {
    const bool by_type = parameters->Contains("full_attention") || parameters->Contains("sliding_attention");
    if (by_type) sliding = parameters->Object("sliding_attention");
    if (!full) full = by_type ? parameters->Object("full_attention") : parameters;
  }
  a.rope = full ? ReadRope(*full, base) : RopeSpec{.base = base};
  if (a.sliding_rope) a.sliding_rope->base = fields.Positive("rope_local_base_freq", a.sliding_rope->base);
  if (sliding) a.sliding_rope = ReadRope(*sliding, a.sliding_rope.value_or(a.rope).base);
}

// Takes the RoPE from the layers for which "no_rope_layers" holds a 0 or, where there is no such list, from each nth.
inline void ReadLayersWithoutRope(const JsonFields& fields, int nth, ShortForm& a) {
  const nlohmann::json* const rotates = fields.Find("no_rope_layers");
  const auto step = static_cast<size_t>(fields.Size("no_rope_layer_interval", nth));
  const bool is_list = rotates == nullptr || (rotates->is_array() && rotates->size() == a.layers.size());
  for (size_t i = 0; is_list && i < a.layers.size(); ++i) {
    const bool without = rotates == nullptr ? (i + 1) % step == 0 : (*rotates)[i] == nlohmann::json(0);
    if (without) a.layers[i] = LayerKind::kNopeAttention;
    if (without || rotates == nullptr || (*rotates)[i] == nlohmann::json(1)) continue;
    return fields.WrongValue("no_rope_layers", (*rotates)[i], "1 for layers with RoPE and 0 for others");
  }
  if (is_list) return;
  fields.WrongValue("no_rope_layers", *rotates,
                    "an array of " + std::to_string(a.layers.size()) + ", one number for each layer");
}

}  // namespace skald::internal

#endif  // SKALD_CONFIGS_READERS_CONFIG_JSON_ROPE_H_
