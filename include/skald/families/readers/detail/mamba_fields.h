// SPDX-License-Identifier: Apache-2.0
//
// Fields that config.json files of Mamba, of Mamba-2 and of models with such layers have in common.
//
// Sources: configuration_*.py in the folders of src/transformers/models that have the model_type's name, versions
// 4.52 to 5 of https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_READERS_DETAIL_MAMBA_FIELDS_H_
#define SKALD_FAMILIES_READERS_DETAIL_MAMBA_FIELDS_H_

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/fact_names.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/passed/detail/unread_fields.h"
#include "skald/layers/kinds/recurrent/mamba2.h"

namespace skald::internal {

inline constexpr FactRenaming kMambaFactNames[] = {{"rms_norm_eps", "layer_norm_epsilon"}};

inline constexpr PassedFields kPaddedVocabulary = {"how the embedding was padded: vocab_size has it", "",
                                                   "pad_vocab_size_multiple"};

// Reads what both Mamba families have in common into `a`, except for the recurrence.
inline void ReadMambaFields(const JsonFields& fields, LayerKind kind, ShortForm& a) {
  fields.Expect("use_bias", false);
  fields.Expect("use_conv_bias", true);
  fields.Expect("hidden_act", "silu");
  fields.Expect("rms_norm", true);
  a.model_dim = fields.Size("hidden_size");
  a.vocab_size = fields.Size("vocab_size");
  a.layers.assign(LayerCount(fields), kind);
  fields.Expect("d_model", a.model_dim);  // some files have the names of the first publication beside
  fields.Expect("n_layer", a.layers.size());
  a.norm_epsilon = static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-5));
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
}

// Returns the channels that a field makes of "hidden_size". It is a factor, and need not be a whole number.
inline int ExpandedSize(const JsonFields& fields, const char* name, int model_dim) {
  constexpr double kMaxExpand = 64.0;  // beyond every model there is
  const double expand = fields.Positive(name, 2.0);
  const double size = expand * model_dim;
  if (expand > kMaxExpand || size < 1.0) {
    fields.WrongValue(name, expand, "a factor that makes hidden_size at least 1, and at most 64");
    return 1;
  }
  return static_cast<int>(size);
}

// Returns a bound of a time step. Infinity comes as the bare word that Python writes, which python_json.h makes a
// string, or, from version 5 of transformers on, as an object {"__float__": "Infinity"}.
inline std::optional<float> ReadBound(const nlohmann::json& value) {
  if (value.is_object()) {
    const auto inside = value.find("__float__");
    return value.size() == 1 && inside != value.end() && inside->is_string() ? ReadBound(*inside) : std::nullopt;
  }
  if (value == nlohmann::json("Infinity")) return std::numeric_limits<float>::infinity();
  if (!value.is_number()) return std::nullopt;
  const double bound = value.get<double>();
  if (!(bound >= 0.0 && bound <= 1e30)) return std::nullopt;
  return static_cast<float>(bound);
}

// Reads "time_step_limit", the two bounds that a time step is clamped to.
inline void ReadTimeStepLimit(const JsonFields& fields, Mamba2& layer) {
  const nlohmann::json* limit = fields.Find("time_step_limit");
  if (limit == nullptr) return;
  const bool is_pair = limit->is_array() && limit->size() == 2;
  const std::optional<float> min = is_pair ? ReadBound((*limit)[0]) : std::nullopt;
  const std::optional<float> max = is_pair ? ReadBound((*limit)[1]) : std::nullopt;
  if (!min || !max || *min > *max) {
    fields.WrongValue("time_step_limit", *limit, "two numbers from 0 to Infinity in rising order");
    return;
  }
  layer.time_step_min = *min;
  layer.time_step_max = *max;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_MAMBA_FIELDS_H_
