// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of a Hugging Face checkpoint, in the spellings of versions 4 and 5 of the
// transformers library. Fields that cannot change a logit (context length, token ids, dropout, dtype) are not
// looked at. A field that is absent or null means what the configuration class of its model_type takes it to
// mean; sizes must be there. Nothing throws, whatever the text holds.

#ifndef SKALD_CONFIGS_CONFIG_JSON_H_
#define SKALD_CONFIGS_CONFIG_JSON_H_

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/configs/architecture.h"
#include "skald/configs/gemma.h"
#include "skald/configs/gemma2.h"
#include "skald/configs/gemma3.h"
#include "skald/configs/json_fields.h"
#include "skald/configs/layer.h"
#include "skald/configs/llama.h"
#include "skald/configs/mistral.h"
#include "skald/configs/qwen2.h"
#include "skald/configs/qwen3.h"

namespace skald {
namespace internal {

inline constexpr int kMaxLayers = 1 << 12;  // beyond every model there is

// Which layers are sliding where "layer_types" does not say.
enum class LayerRule {
  kNone,
  kAll,        // unless "sliding_window" is null; where it is absent it is 4096
  kUpper,      // those from "max_window_layers" on, if "use_sliding_window" is true
  kAllButNth,  // all but each nth
};

// What a model_type implies, and assumes where config.json is silent.
struct FamilyRules {
  Architecture implied;  // the family's own members; the optional ones agree with what transformers assumes
  LayerRule layers = LayerRule::kNone;
  int nth = 0;                 // of kAllButNth
  int head_dim = 0;            // where absent; 0: hidden_size / num_attention_heads
  bool kv_heads_given = true;  // false: where absent, as many as query heads
};

// Sources: configuration_*.py in the folders of src/transformers/models that have the model_type's name,
// versions 4.52 to 5 of https://github.com/huggingface/transformers.
inline std::vector<FamilyRules> SupportedFamilies() {
  return {
      {.implied = DescribeFamily<LlamaFamily>(), .kv_heads_given = false},
      {.implied = DescribeFamily<MistralFamily>(), .layers = LayerRule::kAll},
      {.implied = DescribeFamily<Qwen2Family>(), .layers = LayerRule::kUpper},
      {.implied = DescribeFamily<Qwen3Family>(), .layers = LayerRule::kUpper, .head_dim = 128},
      {.implied = DescribeFamily<GemmaFamily>(), .head_dim = 256},
      {.implied = DescribeFamily<Gemma2Family>(), .layers = LayerRule::kAllButNth, .nth = 2, .head_dim = 256},
      {.implied = DescribeFamily<Gemma3Family>(), .layers = LayerRule::kAllButNth, .nth = 6, .head_dim = 256},
  };
}

// The sizes that Gemma3TextConfig assumes. Published files rely on them: transformers writes only what
// differs when a model's text part is an object inside its config.json, and some take that object out and use
// it alone.
inline nlohmann::json Gemma3TextDefaults() {
  return {{"model_type", Gemma3Family::kModelType},
          {"vocab_size", 262208},
          {"hidden_size", 2304},
          {"intermediate_size", 9216},
          {"num_hidden_layers", 26},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 4},
          {"rms_norm_eps", 1e-6},
          {"sliding_window", 4096}};
}

inline std::vector<LayerKind> ReadLayerTypes(const JsonFields& fields, const nlohmann::json& types,
                                             size_t count) {
  if (!types.is_array() || types.size() != count) {
    fields.WrongValue("layer_types", types, "an array of " + std::to_string(count) + ", one for each layer");
    return {};
  }
  std::vector<LayerKind> layers;
  for (const nlohmann::json& type : types) {
    const bool sliding = type == nlohmann::json(Text(LayerKind::kSlidingAttention));
    layers.push_back(sliding ? LayerKind::kSlidingAttention : LayerKind::kFullAttention);
    if (!sliding && type != nlohmann::json(Text(LayerKind::kFullAttention))) {
      fields.Unsupported("layer_types", type, R"("full_attention" and "sliding_attention")");
    }
  }
  return layers;
}

// Tells the layers by the older fields, which layer_types replaced.
inline std::vector<LayerKind> DeriveLayerTypes(const JsonFields& fields, const FamilyRules& family,
                                               size_t count) {
  size_t first_sliding = count;  // layers from this one on slide,
  size_t nth = count + 1;        // but not every nth
  if (family.layers == LayerRule::kAll) {
    const bool window = fields.Find("sliding_window") != nullptr || !fields.Contains("sliding_window");
    if (window) first_sliding = 0;
  } else if (family.layers == LayerRule::kUpper) {
    const bool window = fields.Find("sliding_window") != nullptr && fields.Flag("use_sliding_window", false);
    if (window) first_sliding = static_cast<size_t>(fields.Integer("max_window_layers", 0, kMaxLayers));
  } else if (family.layers == LayerRule::kAllButNth) {
    first_sliding = 0;
    nth = static_cast<size_t>(
        fields.Size("sliding_window_pattern", fields.Size("_sliding_window_pattern", family.nth)));
  }
  std::vector<LayerKind> layers;
  for (size_t i = 0; i < count; ++i) {
    const bool sliding = i >= first_sliding && (i + 1) % nth != 0;
    layers.push_back(sliding ? LayerKind::kSlidingAttention : LayerKind::kFullAttention);
  }
  return layers;
}

inline void ReadLayers(const JsonFields& fields, const FamilyRules& family, Architecture& a) {
  const auto count = static_cast<size_t>(fields.Integer("num_hidden_layers", 1, kMaxLayers));
  const nlohmann::json* types = fields.Find("layer_types");
  a.layers =
      types != nullptr ? ReadLayerTypes(fields, *types, count) : DeriveLayerTypes(fields, family, count);
  if (std::ranges::count(a.layers, LayerKind::kSlidingAttention) == 0) return;
  const auto standard = family.layers == LayerRule::kAll ? std::optional(4096) : std::nullopt;
  a.window = fields.Size("sliding_window", standard);
}

inline Activation ReadActivation(const JsonFields& fields, Activation standard) {
  // Gemma's first files gave "hidden_act" as "gelu" for models trained with the tanh form. The field that
  // replaced it there, "hidden_activation", means what it says.
  const bool newer = fields.Find("hidden_activation") != nullptr;
  const char* name = newer ? "hidden_activation" : "hidden_act";
  const std::string value = fields.String(name, Text(standard));
  if (value == Text(Activation::kGeluErf) && !newer && standard == Activation::kGeluTanh) return standard;
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf}) {
    if (value == Text(activation)) return activation;
  }
  fields.Unsupported(name, value, R"("silu", "gelu_pytorch_tanh" and "gelu")");
  return standard;
}

inline void RefusePartialRope(const JsonFields& fields) {
  constexpr const char* kName = "partial_rotary_factor";
  if (fields.Positive(kName, 1.0) != 1.0) fields.Unsupported(kName, *fields.Find(kName), "1");
}

// Reads a RoPE from the object that holds its type and the parameters of that type, and sometimes its base.
inline RopeSpec ReadRope(const JsonFields& fields, double base) {
  RefusePartialRope(fields);
  RopeSpec rope = {.base = fields.Positive("rope_theta", base)};
  const char* type_name = fields.Find("rope_type") != nullptr ? "rope_type" : "type";  // older files
  const std::string type = fields.String(type_name, Text(RopeScaling::kNone));
  if (type == Text(RopeScaling::kNone)) return rope;
  if (type == Text(RopeScaling::kLinear)) {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == Text(RopeScaling::kLlama3)) {
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
inline void ReadRopes(const JsonFields& fields, Architecture& a) {
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

// A soft cap that is absent is the family's; one that is null is off.
inline float ReadSoftcap(const JsonFields& fields, const char* name, float standard) {
  return static_cast<float>(fields.Positive(name, fields.Contains(name) ? 0.0f : standard));
}

// Refuses what would change the logits and has no place in an Architecture.
inline void RefuseUnsupported(const JsonFields& fields, const FamilyRules& family) {
  for (const char* name : {"attention_bias", "mlp_bias", "use_bidirectional_attention"}) {
    const nlohmann::json* value = fields.Find(name);
    // Where the family has biases anyway, the class does not read such a field.
    if (value != nullptr && *value != nlohmann::json(false) && !family.implied.qkv_bias) {
      fields.Unsupported(name, *value, "false");
    }
  }
}

inline Architecture ReadArchitecture(const JsonFields& fields, const FamilyRules& family) {
  RefuseUnsupported(fields, family);
  Architecture a = family.implied;
  a.model_dim = fields.Size("hidden_size");
  a.feed_forward_dim = fields.Size("intermediate_size");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  const auto all_heads = family.kv_heads_given ? std::nullopt : std::optional(a.heads);
  a.kv_heads = fields.Size("num_key_value_heads", all_heads);
  a.head_dim = fields.Size("head_dim", family.head_dim > 0 ? family.head_dim : a.model_dim / a.heads);
  ReadLayers(fields, family, a);
  ReadRopes(fields, a);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps"));
  a.activation = ReadActivation(fields, a.activation);
  const double query_pre_scale = a.query_pre_scale > 0.0 ? a.query_pre_scale : a.head_dim;
  a.query_pre_scale = fields.Positive("query_pre_attn_scalar", query_pre_scale);
  a.attention_softcap = ReadSoftcap(fields, "attn_logit_softcapping", a.attention_softcap);
  a.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", a.final_softcap);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  DropUnusedFields(a);
  return a;
}

// Reads the architecture of a model whose family `fields` names.
inline Architecture ReadTextModel(const JsonFields& fields) {
  const std::string model_type = fields.String("model_type");
  std::string supported;
  for (const FamilyRules& family : SupportedFamilies()) {
    if (family.implied.model_type == model_type) return ReadArchitecture(fields, family);
    supported += (supported.empty() ? "" : ", ") + family.implied.model_type;
  }
  fields.Unsupported("model_type", model_type, supported);
  return {};
}

}  // namespace internal

// Returns the architecture that the text of a config.json describes. Fails with kDataLoss when it is not a
// JSON object or a value cannot be right, kNotFound when a field is missing that must be there, and
// kUnsupported when a model_type, RoPE type or other feature is none that Skald runs. The sentence names the
// field.
inline Result<Architecture> ParseConfigJson(std::string_view text) {
  const auto root = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return Fail(ErrorCode::kDataLoss, "config.json is not well-formed JSON");
  if (!root.is_object()) return Fail(ErrorCode::kDataLoss, "config.json does not hold a JSON object");

  std::optional<Error> error;
  const internal::JsonFields whole(&root, nullptr, "", &error);
  const std::string model_type = whole.String("model_type");
  const nlohmann::json gemma3_defaults = internal::Gemma3TextDefaults();
  std::optional<internal::JsonFields> fields = whole;
  if (model_type == "gemma3") {  // multimodal: the language model is an object inside
    fields = whole.Object("text_config", &gemma3_defaults);
    if (!fields) whole.Missing("text_config");
  } else if (model_type == Gemma3Family::kModelType) {
    fields.emplace(&root, &gemma3_defaults, "", &error);
  }
  Architecture architecture;
  if (!error) architecture = internal::ReadTextModel(*fields);
  if (error) return Fail(error->code, "config.json: " + error->message);
  return architecture;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_CONFIG_JSON_H_
