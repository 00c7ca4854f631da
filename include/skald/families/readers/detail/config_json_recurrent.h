// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of the families with recurrent layers: RecurrentGemma, Mamba and Mamba-2. What their
// configuration classes could say but no published checkpoint does (other biases, activations, norms) is refused.
//
// Sources: configuration_*.py in the folders of src/transformers/models that have the model_type's name, versions
// 4.52 to 5 of https://github.com/huggingface/transformers.

#ifndef SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_RECURRENT_H_
#define SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_RECURRENT_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"

namespace skald::internal {

// The pattern in "block_types" or "_block_types", repeated over all layers.
inline std::vector<LayerKind> ReadBlockTypes(const JsonFields& fields) {
  nlohmann::json standard = nlohmann::json::array();
  const JsonGuard guard(standard);
  for (const char* const type : {"recurrent", "recurrent", "attention"}) standard.push_back(type);
  const char* const name = fields.Find("block_types") != nullptr ? "block_types" : "_block_types";  // as published
  const nlohmann::json* given = fields.Find(name);
  const nlohmann::json& pattern = given == nullptr ? standard : *given;
  if (!pattern.is_array() || pattern.empty()) {
    fields.WrongValue(name, pattern, R"(an array of "recurrent" and "attention")");
    return {};
  }
  const size_t count = LayerCount(fields);
  std::vector<LayerKind> layers;
  for (size_t i = 0; i < count; ++i) {
    const nlohmann::json& type = pattern[i % pattern.size()];
    const bool recurrent = type == nlohmann::json("recurrent");
    layers.push_back(recurrent ? LayerKind::kRgLru : LayerKind::kSlidingAttention);
    if (!recurrent && type != nlohmann::json("attention")) {
      fields.Unsupported(name, type, R"("recurrent" and "attention")");
    }
  }
  return layers;
}

// Reads the RoPE, whose fields version 5 of transformers moved into an object.
inline void ReadPartialRope(const JsonFields& fields, ShortForm& a) {
  const JsonFields rope = fields.Object("rope_parameters").value_or(fields);
  rope.Expect("rope_type", "default");
  a.rope.base = rope.Positive("rope_theta", fields.Positive("rope_theta", a.rope.base));
  const double factor = rope.Positive("partial_rotary_factor", fields.Positive("partial_rotary_factor", 0.5));
  a.rotary_dim = static_cast<int>(std::fmin(factor, 1.0) * a.head_dim);
  if (factor > 1.0) rope.WrongValue("partial_rotary_factor", factor, "at most 1");
}

inline ShortForm ReadRecurrentGemma(const JsonFields& fields) {
  ShortForm a = ShortFormOf<RecurrentGemmaFamily>();
  fields.Expect("hidden_activation", NameOf(a.activation));  // also of the gate beside the recurrence
  fields.Expect("rope_scaling", nullptr);
  a.model_dim = fields.Size("hidden_size");
  const int doubled = fields.Size("intermediate_size");
  if (doubled % 2 != 0) fields.WrongValue("intermediate_size", doubled, "even: its half is the width");
  a.feed_forward_dim = doubled / 2;
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads", a.heads);
  a.head_dim = fields.Size("head_dim", a.model_dim / a.heads);
  a.query_pre_scale = a.head_dim;
  a.qkv_bias = fields.Flag("attention_bias", false);
  a.layers = ReadBlockTypes(fields);
  a.window = fields.Size("attention_window_size", 2048) + 1;
  ReadPartialRope(fields, a);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", 1e-6));
  a.final_softcap = ReadSoftcap(fields, "logits_soft_cap", a.final_softcap);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  a.rg_lru = {
      .width = fields.Size("lru_width", a.model_dim), .blocks = a.heads, .conv_width = fields.Size("conv1d_width", 4)};
  return a;
}

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

inline ShortForm ReadMamba(const JsonFields& fields) {
  ShortForm a = ShortFormOf<MambaFamily>();
  ReadMambaFields(fields, LayerKind::kMamba, a);
  const nlohmann::json* rank = fields.Find("time_step_rank");
  const bool automatic = rank == nullptr || *rank == nlohmann::json("auto");
  a.mamba = {.inner_dim = fields.Size("intermediate_size", ExpandedSize(fields, "expand", a.model_dim)),
             .state_dim = fields.Size("state_size", 16),
             .time_step_rank = automatic ? (a.model_dim + 15) / 16 : fields.Size("time_step_rank"),
             .conv_width = fields.Size("conv_kernel", 4)};
  fields.Expect("d_inner", a.mamba.inner_dim);
  (void)fields.Object("ssm_cfg");  // of the first publication; nothing in it is read
  return a;
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

inline ShortForm ReadMamba2(const JsonFields& fields) {
  ShortForm a = ShortFormOf<Mamba2Family>();
  ReadMambaFields(fields, LayerKind::kMamba2, a);
  fields.Expect("norm_before_gate", false);
  Mamba2& layer = a.mamba2;
  layer.conv_width = fields.Size("conv_kernel", 4);
  layer.heads = fields.Size("num_heads", 128);
  layer.head_dim = fields.Size("head_dim", 64);
  layer.state_dim = fields.Size("state_size", 128);
  layer.groups = fields.Size("n_groups", 8);
  const int width = ExpandedSize(fields, "expand", a.model_dim);
  if (int64_t{layer.heads} * layer.head_dim != width) {
    fields.WrongValue(
        "num_heads", layer.heads,
        "expand * hidden_size / head_dim, that is " + std::to_string(width) + " / " + std::to_string(layer.head_dim));
  }
  if (layer.heads % layer.groups != 0) fields.WrongValue("n_groups", layer.groups, "a divisor of num_heads");
  ReadTimeStepLimit(fields, layer);
  return a;
}

struct RecurrentFamily {
  std::string_view model_type;
  ShortForm (*read)(const JsonFields&);
};

inline constexpr RecurrentFamily kRecurrentFamilies[] = {
    {RecurrentGemmaFamily::kModelType, ReadRecurrentGemma},
    {MambaFamily::kModelType, ReadMamba},
    {Mamba2Family::kModelType, ReadMamba2},
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_RECURRENT_H_
