// SPDX-License-Identifier: Apache-2.0
//
// Reads the rotary position embeddings that a config.json describes, in the spellings of versions 4 and 5 of the
// transformers library.

#ifndef SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_ROPE_H_
#define SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_ROPE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// The meaning of the type "dynamic" in a family.
enum class DynamicRope {
  kRefused,
  kOtherBase,  // with "alpha": another base, the same at every length
  kPlain,      // with "factor": plain in texts of up to max_position_embeddings tokens; longer ones are left out
};

// The fields of a RoPE outside of the object with its type.
struct RopeContext {
  const JsonFields& fields;  // of the whole model
  int rotary_dim;
  DynamicRope dynamic = DynamicRope::kRefused;
};

// Reads the lists of factors and what else decides on a LongRoPE. Newer files have original_max_position_embeddings
// beside the lists, older ones outside. (transformers, modeling_rope_utils.py; arXiv:2402.13753)
inline void ReadLongRope(const JsonFields& fields, const RopeContext& context, RopeSpec& rope) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  const bool is_inside = fields.Find(kOriginal) != nullptr;
  const JsonFields& holder = is_inside ? fields : context.fields;
  const auto pairs = static_cast<size_t>(context.rotary_dim) / 2;
  rope.scaling = RopeScaling::kLongRope;
  rope.factors = fields.PositiveFloats("long_factor", pairs);
  rope.short_factors = fields.PositiveFloats("short_factor", pairs);
  rope.original_context = holder.Size(kOriginal);
  if (rope.original_context < 2.0) holder.WrongValue(kOriginal, rope.original_context, "at least 2");
  constexpr const char* kAttentionFactor = "attention_factor";
  if (fields.Find(kAttentionFactor) != nullptr) {
    rope.attention_factor = static_cast<float>(fields.Positive(kAttentionFactor));
    return;
  }
  const double stretched = context.fields.Size("max_position_embeddings") / rope.original_context;
  fields.Expect("factor", stretched);  // of two that differ, versions of transformers take one or the other
  const double logarithm = PortableLog(std::fmax(stretched, 1.0)) / PortableLog(std::fmax(rope.original_context, 2.0));
  rope.attention_factor = static_cast<float>(std::sqrt(1.0 + logarithm));
}

// Reads a YaRN. The context of the first training may be given outside of `fields`; where it is not given, it is the
// model's. (transformers, modeling_rope_utils.py; arXiv:2309.00071)
inline void ReadYarn(const JsonFields& fields, const RopeContext& context, RopeSpec& rope) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  rope.scaling = RopeScaling::kYarn;
  rope.factor = fields.Positive("factor");
  const JsonFields& holder = fields.Find(kOriginal) != nullptr ? fields : context.fields;
  rope.original_context = holder.Size(holder.Find(kOriginal) != nullptr ? kOriginal : "max_position_embeddings");
  rope.high_frequency_factor = fields.Positive("beta_fast", 32.0);
  rope.low_frequency_factor = fields.Positive("beta_slow", 1.0);
  rope.whole_ramp = fields.Flag("truncate", true);
  if (rope.factor < 1.0) fields.WrongValue("factor", rope.factor, "at least 1");
  if (rope.high_frequency_factor <= rope.low_frequency_factor) {
    fields.WrongValue("beta_fast", rope.high_frequency_factor, "more than beta_slow");
  }
  double attention_factor = YarnAttentionFactor(rope.factor);
  if (fields.Find("mscale") != nullptr && fields.Find("mscale_all_dim") != nullptr) {
    attention_factor = YarnAttentionFactor(rope.factor, fields.Positive("mscale")) /
                       YarnAttentionFactor(rope.factor, fields.Positive("mscale_all_dim"));
  }
  rope.attention_factor = static_cast<float>(fields.Positive("attention_factor", attention_factor));
}

// Stretches the base by `alpha`. (https://github.com/Tencent-Hunyuan/Hunyuan-A13B)
inline double WithNtkAlpha(double base, double alpha, int rotary_dim) {
  const double power = static_cast<double>(rotary_dim) / static_cast<double>(std::max(1, rotary_dim - 2));
  return base * PortablePow(alpha, power);
}

// Older files have another name.
inline const char* NameOfRopeType(const JsonFields& rope) {
  return rope.Find("rope_type") != nullptr ? "rope_type" : "type";
}

// Returns how long texts may be in which a RoPE of the type "dynamic" is plain; 0 where it is of another type.
inline int LongestTextOfPlainRope(const JsonFields& fields) {
  std::optional<JsonFields> rope = fields.Object("rope_scaling");
  if (!rope) rope = fields.Object("rope_parameters");
  const bool is_dynamic = rope && rope->String(NameOfRopeType(*rope), NameOf(RopeScaling::kNone)) == "dynamic";
  return is_dynamic ? fields.Size("max_position_embeddings") : 0;
}

// Refuses a context of the first training that is told within the object of a RoPE and, otherwise, beside it: older
// versions of transformers take the former, newer ones the latter.
inline void ExpectOneContext(const JsonFields& fields, const RopeContext& context) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  const nlohmann::json* const inside = fields.Find(kOriginal);
  if (inside != nullptr) context.fields.Expect(kOriginal, *inside);
}

// Reads a RoPE from the object that holds its type and the parameters of that type, and sometimes its base.
inline RopeSpec ReadRope(const JsonFields& fields, const RopeContext& context, double base) {
  RopeSpec rope = {.base = fields.Positive("rope_theta", base)};
  const char* const type_name = NameOfRopeType(fields);
  const std::string type = fields.String(type_name, NameOf(RopeScaling::kNone));
  if (type == NameOf(RopeScaling::kNone)) return rope;
  ExpectOneContext(fields, context);
  if (type == NameOf(RopeScaling::kLongRope) || type == "su") {  // as Phi-3's first files had it
    ReadLongRope(fields, context, rope);
    return rope;
  }
  if (type == NameOf(RopeScaling::kYarn)) {
    ReadYarn(fields, context, rope);
    return rope;
  }
  if (type == "dynamic" && context.dynamic == DynamicRope::kOtherBase) {
    rope.base = WithNtkAlpha(rope.base, fields.Positive("alpha"), context.rotary_dim);
    return rope;
  }
  if (type == "dynamic" && context.dynamic == DynamicRope::kPlain) {
    (void)fields.Positive("factor");
    return rope;
  }
  if (type == NameOf(RopeScaling::kLinear)) {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == NameOf(RopeScaling::kLlama3)) {
    rope.scaling = RopeScaling::kLlama3;
    rope.low_frequency_factor = fields.Positive("low_freq_factor");
    rope.high_frequency_factor = fields.Positive("high_freq_factor");
    rope.original_context = fields.Positive("original_max_position_embeddings");
  } else {
    fields.Unsupported(type_name, type, R"("default", "linear", "llama3", "longrope" and "yarn")");
  }
  rope.factor = fields.Positive("factor");
  return rope;
}

// Returns which part of a head RoPE turns, as one of the objects says it.
inline double ReadRotaryFactor(const JsonFields& fields, bool may_be_partial, double fallback) {
  constexpr const char* kName = "partial_rotary_factor";
  const double factor = fields.Positive(kName, fallback);
  if (may_be_partial) {
    if (factor > 1.0) fields.WrongValue(kName, factor, "at most 1");
    return std::fmin(factor, 1.0);
  }
  if (factor != 1.0) fields.Unsupported(kName, factor, "1");
  return 1.0;
}

// Replaces the family's RoPEs in `a` by those of the file. Version 4 of transformers has "rope_theta",
// "rope_scaling" and, for the sliding layers, "rope_local_base_freq"; version 5 has "rope_parameters" with
// all of it, in families with two RoPEs as one object for each of the layer types. `rotary_part` of each head is turned
// where files do not say.
inline void ReadRopes(const JsonFields& fields, bool may_be_partial, ShortForm& a, double rotary_part = 1.0,
                      DynamicRope dynamic = DynamicRope::kRefused) {
  double rotary_factor = ReadRotaryFactor(fields, may_be_partial, rotary_part);
  const double base = fields.Positive("rope_theta", a.rope.base);
  std::optional<JsonFields> full = fields.Object("rope_scaling");
  std::optional<JsonFields> sliding;
  if (const std::optional<JsonFields> parameters = fields.Object("rope_parameters")) {
    const bool by_type = parameters->Contains("full_attention") || parameters->Contains("sliding_attention");
    if (by_type) sliding = parameters->Object("sliding_attention");
    // The original of a family with two RoPEs takes no notice of one for both.
    if (!by_type && a.sliding_rope && parameters->Contains("rope_type")) parameters->Missing("sliding_attention");
    if (!full) full = by_type ? parameters->Object("full_attention") : parameters;
  }
  for (const auto* rope : {&full, &sliding}) {
    if (*rope) rotary_factor = ReadRotaryFactor(**rope, may_be_partial, rotary_factor);
  }
  a.rotary_dim = static_cast<int>(rotary_factor * a.head_dim);
  const RopeContext context = {fields, a.rotary_dim, dynamic};
  a.rope = full ? ReadRope(*full, context, base) : RopeSpec{.base = base};
  if (a.sliding_rope) a.sliding_rope->base = fields.Positive("rope_local_base_freq", a.sliding_rope->base);
  if (sliding) a.sliding_rope = ReadRope(*sliding, context, a.sliding_rope.value_or(a.rope).base);
}

// Takes the RoPE from the layers for which "no_rope_layers" holds a 0 or, if there is no such list, from each nth. An
// empty list is none.
inline void ReadLayersWithoutRope(const JsonFields& fields, int nth, ShortForm& a) {
  const nlohmann::json* rotates = fields.Find("no_rope_layers");
  if (rotates != nullptr && rotates->is_array() && rotates->empty()) rotates = nullptr;
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

#endif  // SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_ROPE_H_
