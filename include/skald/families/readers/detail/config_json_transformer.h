// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of the families all of whose layers are attention: the Llama lineage up to Gemma 3.

#ifndef SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_TRANSFORMER_H_
#define SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_TRANSFORMER_H_

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald::internal {

// Which layers are sliding where "layer_types" does not say.
enum class LayerRule {
  kNone,
  kAll,         // unless "sliding_window" is null; where it is absent it is 4096
  kAllIfGiven,  // where "sliding_window" is there and not null
  kUpper,       // those from "max_window_layers" on, if "use_sliding_window" is true
  kAllButNth,   // all but each nth
};

// The properties that a model_type implies, and the defaults for silent files. Sources: configuration_*.py in the
// folders of src/transformers/models that have the model_type's name, versions 4.52 to 5 of
// https://github.com/huggingface/transformers.
struct FamilyRules {
  ShortForm implied;  // the family's own members; the optional ones agree with what transformers assumes
  LayerRule layers = LayerRule::kNone;
  int nth = 0;                     // of kAllButNth
  int head_dim = 0;                // where absent; 0: hidden_size / num_attention_heads
  bool head_dim_may_be_0 = false;  // which means what none does
  bool kv_heads_given = true;      // false: where absent, as many as query heads
  // Which biases the file decides on; others are as implied.
  bool reads_attention_bias = false;     // of all four projections
  bool reads_feed_forward_bias = false;  // of all three
  ExpertRule experts = ExpertRule::kNone;
  bool reads_both_ways = false;    // whether "use_bidirectional_attention" may say that attention sees both ways
  bool reads_caps = false;         // of scores and logits, and what scores are divided by
  int nth_without_rope = 0;        // 0: all layers have one
  bool may_rotate_partly = false;  // whether RoPE may turn a part of each head
  double rotary_part = 1.0;        // that it turns where files do not say
  DynamicRope dynamic_rope = DynamicRope::kRefused;
  const char* norm_epsilon = "rms_norm_eps";
  double standard_epsilon = 0.0;  // where absent; 0: it must be there
  bool gelu_means_tanh = false;   // as Gemma's first files had it
  bool gated = true;              // false: feed-forward layers are FeedForward
  bool gguf_rms_epsilon = false;  // GGUF files call the epsilon of LayerNorms that of RMSNorms
  // Of GGUF files, which leave them out: the window of kAllButNth, and the layers of the largest published model, if
  // what its scores are divided by is another rule than the others'.
  std::optional<int> gguf_window = {};
  int largest_layers = 0;
};

// Layers of full attention, of which those that slide have a window.
inline std::vector<LayerKind> KindsOf(const LayerFlags& slides) {
  std::vector<LayerKind> layers;
  for (const bool slides_here : slides) {
    layers.push_back(slides_here ? LayerKind::kSlidingAttention : LayerKind::kFullAttention);
  }
  return layers;
}

// Tells which layers slide by the older fields, which layer_types replaced.
inline LayerFlags DeriveLayerTypes(const JsonFields& fields, const FamilyRules& family, size_t count) {
  size_t first_sliding = count;  // layers from this one on slide,
  size_t nth = count + 1;        // but not every nth
  if (family.layers == LayerRule::kAll) {
    const bool window = fields.Find("sliding_window") != nullptr || !fields.Contains("sliding_window");
    if (window) first_sliding = 0;
  } else if (family.layers == LayerRule::kAllIfGiven) {
    if (fields.Find("sliding_window") != nullptr) first_sliding = 0;
  } else if (family.layers == LayerRule::kUpper) {
    const bool window = fields.Flag("use_sliding_window", false) && fields.Find("sliding_window") != nullptr;
    if (window) first_sliding = static_cast<size_t>(fields.Integer("max_window_layers", 0, kMaxLayers));
  } else if (family.layers == LayerRule::kAllButNth) {
    first_sliding = 0;
    nth =
        static_cast<size_t>(fields.Size("sliding_window_pattern", fields.Size("_sliding_window_pattern", family.nth)));
  }
  LayerFlags slides;
  for (size_t i = 0; i < count; ++i) slides.push_back(i >= first_sliding && (i + 1) % nth != 0);
  return slides;
}

// Whether the original of a family reads "layer_types": others take no notice of it.
constexpr bool HasLayerTypes(LayerRule rule) { return rule == LayerRule::kUpper || rule == LayerRule::kAllButNth; }

inline void ReadLayers(const JsonFields& fields, const FamilyRules& family, ShortForm& a) {
  const size_t count = LayerCount(fields);
  const auto given = ReadSlidingLayers(fields, count);
  const LayerFlags slides = given && HasLayerTypes(family.layers) ? *given : DeriveLayerTypes(fields, family, count);
  if (given && *given != slides) {
    fields.Unsupported("layer_types", *fields.Find("layer_types"), "layers of one type, which sliding_window tells");
  }
  a.layers = KindsOf(slides);
  if (std::ranges::count(a.layers, LayerKind::kSlidingAttention) == 0) return;
  const auto standard = family.layers == LayerRule::kAll ? std::optional(4096) : std::nullopt;
  a.window = fields.Size("sliding_window", standard);
  if (family.layers == LayerRule::kUpper && !fields.Flag("use_sliding_window", false)) {
    fields.Unsupported("use_sliding_window", false, R"(true where "layer_types" has "sliding_attention")");
  }
  fields.Expect("sliding_window_size", a.window);  // an older version's name for it, beside
}

inline Activation ReadActivation(const JsonFields& fields, Activation standard, bool gelu_means_tanh) {
  // Gemma's first files gave "hidden_act" as "gelu" for models trained with the tanh form. The field that
  // replaced it there, "hidden_activation", means what it says.
  const bool newer = fields.Find("hidden_activation") != nullptr;
  const char* name = newer ? "hidden_activation" : "hidden_act";
  const std::string value = fields.String(name, NameOf(standard));
  if (value == NameOf(Activation::kGeluErf) && !newer && gelu_means_tanh) return Activation::kGeluTanh;
  if (value == "gelu_new" || value == "gelu_fast") return Activation::kGeluTanh;
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf, standard}) {
    if (value != NameOf(activation)) continue;
    const nlohmann::json* const older = newer ? fields.Find("hidden_act") : nullptr;
    const bool is_first_gemma = gelu_means_tanh && older != nullptr && *older == nlohmann::json("gelu");
    if (newer && !is_first_gemma) fields.Expect("hidden_act", value);
    return activation;
  }
  fields.Unsupported(name, value, R"("silu", "gelu_pytorch_tanh" and "gelu")");
  return standard;
}

inline void ReadBiases(const JsonFields& fields, const FamilyRules& family, ShortForm& a) {
  if (family.reads_attention_bias) {
    a.qkv_bias = a.attention_output_bias = fields.Flag("attention_bias", false);
  } else if (!a.qkv_bias) {
    fields.Expect("attention_bias", false);
  }
  if (family.reads_feed_forward_bias) {
    a.feed_forward_bias = fields.Flag("mlp_bias", false);
  } else {
    fields.Expect("mlp_bias", false);
  }
}

// Reads what scores are divided by the root of, and how they and the logits are capped. The original implementations of
// families that have no caps take no notice of these fields.
inline void ReadCaps(const JsonFields& fields, const FamilyRules& family, ShortForm& a) {
  constexpr const char* kScale = "query_pre_attn_scalar";
  const double query_pre_scale = a.query_pre_scale > 0.0 ? a.query_pre_scale : a.head_dim;
  a.query_pre_scale = fields.Positive(kScale, query_pre_scale);
  if (!family.reads_caps) return fields.Expect(kScale, query_pre_scale);
  a.attention_softcap = ReadSoftcap(fields, "attn_logit_softcapping", a.attention_softcap);
  a.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", a.final_softcap);
}

// Gives the family's norms their epsilon.
inline void SetNormEpsilon(float epsilon, ShortForm& a) {
  const auto* const found = a.norm ? a.norm->As<LayerNorm>() : nullptr;
  if (found == nullptr) {
    a.norm_epsilon = epsilon;
  } else {
    LayerNorm norm = *found;
    norm.epsilon = epsilon;
    a.norm = norm;
  }
}

// Takes the gates from feed-forward layers, unless they are of another type.
inline void TakeGates(const FamilyRules& family, ShortForm& a) {
  if (family.gated) return;
  a.feed_forward = FeedForward{.width = a.feed_forward_dim, .activation = a.activation, .bias = a.feed_forward_bias};
  a.feed_forward_dim = 0;
  a.feed_forward_bias = false;
}

inline ShortForm ReadTransformer(const JsonFields& fields, const FamilyRules& family) {
  if (!family.reads_both_ways) fields.Expect("use_bidirectional_attention", false);
  ShortForm a = family.implied;
  if (family.reads_both_ways) a.both_ways = fields.Flag("use_bidirectional_attention", a.both_ways);
  a.model_dim = fields.Size("hidden_size");
  a.feed_forward_dim = fields.Size("intermediate_size");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  const auto all_heads = family.kv_heads_given ? std::nullopt : std::optional(a.heads);
  a.kv_heads = fields.Size("num_key_value_heads", all_heads);
  const int head_dim = family.head_dim > 0 ? family.head_dim : a.model_dim / a.heads;
  const nlohmann::json* const given = fields.Find("head_dim");
  const bool is_absent = family.head_dim_may_be_0 && given != nullptr && *given == 0;
  a.head_dim = is_absent ? head_dim : fields.Size("head_dim", head_dim);
  ReadLayers(fields, family, a);
  if (family.nth_without_rope > 0) {
    fields.Expect("use_sliding_window", false);
    ReadLayersWithoutRope(fields, family.nth_without_rope, a);
  }
  ReadRopes(fields, family.may_rotate_partly, a, family.rotary_part, family.dynamic_rope);
  const auto epsilon = family.standard_epsilon > 0.0 ? std::optional(family.standard_epsilon) : std::nullopt;
  SetNormEpsilon(static_cast<float>(fields.Positive(family.norm_epsilon, epsilon)), a);
  a.activation = ReadActivation(fields, a.activation, family.gelu_means_tanh);
  ReadCaps(fields, family, a);
  a.tied_embeddings = fields.Flag("tie_word_embeddings", a.tied_embeddings);
  ReadBiases(fields, family, a);
  ReadJsonExperts(fields, family.experts, a);
  TakeGates(family, a);
  return a;
}

// The reader of a family with these rules.
template <FamilyRules (*kRules)()>
TextModel ReadTransformerWith(const JsonFields& fields) {
  return ReadTransformer(fields, kRules());
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_CONFIG_JSON_TRANSFORMER_H_
