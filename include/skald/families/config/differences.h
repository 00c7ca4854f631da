// SPDX-License-Identifier: Apache-2.0
//
// In which facts two models differ, called as the file that one of them is read from calls them, so that a person can
// find them there.

#ifndef SKALD_FAMILIES_CONFIG_DIFFERENCES_H_
#define SKALD_FAMILIES_CONFIG_DIFFERENCES_H_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/config/fact_names.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald {
namespace internal {

inline std::string Text(std::string_view value) { return std::string(value); }
inline std::string Text(bool value) { return value ? "true" : "false"; }
inline std::string Text(int value) { return std::to_string(value); }

/// The shortest text that no other value of its type has, so equal texts mean equal values.
template <std::floating_point T>
std::string Text(T value) {
  if (value == std::floor(value) && std::abs(value) < T{1e9}) return std::to_string(static_cast<int64_t>(value));
  char buffer[32];
  return std::string(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
}

inline std::string Text(const std::vector<float>& values) {
  std::string text = "[";
  for (const float value : values) text += (text.size() == 1 ? "" : ", ") + Text(value);
  return text + "]";
}

inline std::string Text(const RopeSpec& rope) {
  std::string text = Text(rope.base);
  if (rope.scaling == RopeScaling::kLongRope)
    return text + " longrope " + Text(rope.factors) + Text(rope.short_factors);
  if (rope.scaling != RopeScaling::kNone) text += " " + Text(NameOf(rope.scaling)) + " by " + Text(rope.factor);
  if (rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn) {
    text += " between " + Text(rope.low_frequency_factor) + " and " + Text(rope.high_frequency_factor) + " of " +
            Text(rope.original_context);
  }
  return text;
}

/// The shortest pattern whose repetition gives the list, as in "sliding_attention x5, full_attention x1".
inline std::string Pattern(const std::vector<std::string>& texts) {
  size_t period = 1;
  while (period < texts.size() &&
         !std::equal(texts.begin() + static_cast<ptrdiff_t>(period), texts.end(), texts.begin())) {
    ++period;
  }
  std::string pattern;
  for (size_t begin = 0; begin < std::min(period, texts.size());) {
    size_t end = begin;
    while (end < period && texts[end] == texts[begin]) ++end;
    pattern += (begin == 0 ? "" : ", ") + texts[begin] + " x" + std::to_string(end - begin);
    begin = end;
  }
  return pattern;
}

/// All layers of type L that pass `test`.
template <Layer L, class Test>
std::vector<L> LayersOf(const ModelSpec& spec, Test test) {
  std::vector<L> found;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const L* const one = layer.As<L>(); one != nullptr && test(*one)) found.push_back(*one);
    }
  }
  return found;
}

/// The values of `fact` in the layers: one if all agree, `none` if there are none.
template <class L, class Fact>
std::string FactOf(const std::vector<L>& layers, const std::string& none, Fact fact) {
  std::vector<std::string> texts;
  for (const L& layer : layers) texts.push_back(fact(layer));
  if (texts.empty()) return none;
  const bool agree = std::ranges::all_of(texts, [&](const std::string& text) { return text == texts[0]; });
  return agree ? texts[0] : Pattern(texts);
}

template <Layer L, auto kMember>
std::string Member(const ModelSpec& spec) {
  return FactOf(LayersOf<L>(spec, [](const L&) { return true; }), Text(L().*kMember),
                [](const L& layer) { return Text(layer.*kMember); });
}

inline std::vector<Attention> RotatingAttention(const ModelSpec& spec) {
  return LayersOf<Attention>(spec, [](const Attention& layer) { return layer.rotary_dim > 0; });
}
/// The RoPE of full layers or, where all slide, of those.
inline std::vector<Attention> MainAttention(const ModelSpec& spec) {
  std::vector<Attention> all = RotatingAttention(spec), full;
  std::ranges::copy_if(all, std::back_inserter(full), [](const Attention& layer) { return layer.window == 0; });
  return full.empty() ? all : full;
}
inline std::vector<Attention> SlidingAttention(const ModelSpec& spec) {
  return LayersOf<Attention>(spec, [](const Attention& layer) { return layer.window > 0; });
}

template <auto kMember>
std::string MainRope(const ModelSpec& spec) {
  return FactOf(MainAttention(spec), Text(RopeSpec().*kMember),
                [](const Attention& a) { return Text(a.rope.*kMember); });
}

/// The RoPE that only sliding layers have.
inline std::string SlidingRope(const ModelSpec& spec) {
  const auto main = MainAttention(spec), sliding = SlidingAttention(spec);
  const bool own =
      !main.empty() && std::ranges::any_of(sliding, [&](const Attention& a) { return a.rope != main[0].rope; });
  return own ? FactOf(sliding, "", [](const Attention& a) { return Text(a.rope); }) : "none";
}

/// A layer's name in "layer_types"; nothing for feed-forward layers.
inline std::optional<std::string> MixerName(const LayerSpec& layer) {
  if (layer.As<GatedFeedForward>() != nullptr || layer.As<FeedForward>() != nullptr) return std::nullopt;
  if (layer.As<MixtureOfExperts>() != nullptr || layer.As<RwkvChannelMix>() != nullptr) return std::nullopt;
  if (const auto* attention = layer.As<Attention>()) {
    return attention->window > 0       ? "sliding_attention"
           : attention->rotary_dim > 0 ? "full_attention"
                                       : "nope_attention";
  }
  if (layer.As<RgLru>() != nullptr) return "recurrent";
  if (layer.As<Mamba>() != nullptr) return "mamba";
  return layer.As<Mamba2>() != nullptr ? "mamba2" : std::string(layer.name());
}

inline std::string LayerTypesText(const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (auto name = MixerName(layer)) names.push_back(*name);
    }
  }
  return Pattern(names);
}

inline size_t LayerCount(const ModelSpec& spec) { return spec.blocks.empty() ? 0 : spec.blocks.back().number + 1; }

inline std::string ResidualMultiplier(const ModelSpec& spec) {
  return FactOf(spec.blocks, "1", [](const Block& block) { return Text(block.residual_multiplier); });
}

inline bool HasPreNorms(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) { return block.norm.has_value(); });
}

inline bool HasPostNorms(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) { return block.post_norm.has_value(); });
}

/// The properties of the final norm, which most models share with all norms; the standard if it is of another type.
template <Norm N, auto kMember>
std::string FinalNorm(const ModelSpec& spec) {
  const N* const norm = spec.final_norm.As<N>();
  return Text(norm != nullptr ? norm->*kMember : N().*kMember);
}

struct ModelFact {
  /// The usual name in config.json, or of the Config's member where config.json has none. Two families may use one name
  /// for different things, and some have names of their own (fact_names.h).
  const char* name;
  std::string (*text)(const ModelSpec&);
};

inline constexpr ModelFact kModelFacts[] = {
    {"hidden_size", [](const ModelSpec& s) { return Text(s.model_dim); }},
    {"intermediate_size", Member<GatedFeedForward, &GatedFeedForward::width>},
    {"moe_intermediate_size", Member<MixtureOfExperts, &MixtureOfExperts::width>},
    {"num_experts", Member<MixtureOfExperts, &MixtureOfExperts::experts>},
    {"bias of the experts", Member<MixtureOfExperts, &MixtureOfExperts::bias>},
    {"num_experts_per_tok", Member<MixtureOfExperts, &MixtureOfExperts::chosen>},
    {"norm_topk_prob", Member<MixtureOfExperts, &MixtureOfExperts::normalized>},
    {"routed_scaling_factor", Member<MixtureOfExperts, &MixtureOfExperts::weight_scale>},
    {"n_group", Member<MixtureOfExperts, &MixtureOfExperts::groups>},
    {"topk_group", Member<MixtureOfExperts, &MixtureOfExperts::chosen_groups>},
    {"shared_expert_intermediate_size", Member<MixtureOfExperts, &MixtureOfExperts::shared_width>},
    {"linear_num_key_heads", Member<GatedDeltaNet, &GatedDeltaNet::key_heads>},
    {"linear_num_value_heads", Member<GatedDeltaNet, &GatedDeltaNet::value_heads>},
    {"linear_key_head_dim", Member<GatedDeltaNet, &GatedDeltaNet::key_dim>},
    {"linear_value_head_dim", Member<GatedDeltaNet, &GatedDeltaNet::value_dim>},
    {"linear_conv_kernel_dim", Member<GatedDeltaNet, &GatedDeltaNet::conv_width>},
    {"intermediate_size", Member<RwkvChannelMix, &RwkvChannelMix::width>},
    {"head_dim", Member<RwkvTimeMix, &RwkvTimeMix::head_dim>},
    {"decay_low_rank_dim", Member<RwkvTimeMix, &RwkvTimeMix::decay_rank>},
    {"a_low_rank_dim", Member<RwkvTimeMix, &RwkvTimeMix::rate_rank>},
    {"v_low_rank_dim", Member<RwkvTimeMix, &RwkvTimeMix::value_rank>},
    {"gate_low_rank_dim", Member<RwkvTimeMix, &RwkvTimeMix::gate_rank>},
    {"vocab_size", [](const ModelSpec& s) { return Text(s.vocab_size); }},
    {"num_hidden_layers", [](const ModelSpec& s) { return std::to_string(LayerCount(s)); }},
    {"num_attention_heads", Member<Attention, &Attention::heads>},
    {"num_key_value_heads", Member<Attention, &Attention::kv_heads>},
    {"head_dim", Member<Attention, &Attention::head_dim>},
    {"partial_rotary_factor",
     [](const ModelSpec& s) {
       return FactOf(RotatingAttention(s), "0", [](const Attention& a) {
         return Text(static_cast<double>(a.rotary_dim) / static_cast<double>(a.head_dim));
       });
     }},
    {"layer_types", LayerTypesText},
    {"sliding_window",
     [](const ModelSpec& s) {
       return FactOf(SlidingAttention(s), "0", [](const Attention& a) { return Text(a.window); });
     }},
    {"rope_theta", MainRope<&RopeSpec::base>},
    {"rope_type",
     [](const ModelSpec& s) {
       return FactOf(MainAttention(s), "default", [](const Attention& a) { return Text(NameOf(a.rope.scaling)); });
     }},
    {"factor of rope_scaling", MainRope<&RopeSpec::factor>},
    {"low_freq_factor", MainRope<&RopeSpec::low_frequency_factor>},
    {"high_freq_factor", MainRope<&RopeSpec::high_frequency_factor>},
    {"original_max_position_embeddings", MainRope<&RopeSpec::original_context>},
    {"long_factor", MainRope<&RopeSpec::factors>},
    {"short_factor", MainRope<&RopeSpec::short_factors>},
    {"attention_factor", MainRope<&RopeSpec::attention_factor>},
    {"truncate", MainRope<&RopeSpec::whole_ramp>},
    {"rope_local_base_freq", SlidingRope},
    {"kNorm", [](const ModelSpec& s) { return Text(s.final_norm.name()); }},
    {"rms_norm_eps", FinalNorm<RmsNorm, &RmsNorm::epsilon>},
    {"layer_norm_eps", FinalNorm<LayerNorm, &LayerNorm::epsilon>},
    {"hidden_act",
     [](const ModelSpec& s) {
       return FactOf(LayersOf<GatedFeedForward>(s, [](const GatedFeedForward&) { return true; }), "none",
                     [](const GatedFeedForward& f) { return Text(NameOf(f.activation)); });
     }},
    {"query_pre_attn_scalar", Member<Attention, &Attention::query_pre_scale>},
    {"attn_logit_softcapping", Member<Attention, &Attention::softcap>},
    {"final_logit_softcapping", [](const ModelSpec& s) { return Text(s.final_softcap); }},
    {"embedding_multiplier", [](const ModelSpec& s) { return Text(s.embedding_multiplier); }},
    {"residual_multiplier", ResidualMultiplier},
    {"logits_scaling", [](const ModelSpec& s) { return Text(s.logits_scaling); }},
    {"tie_word_embeddings", [](const ModelSpec& s) { return Text(s.tied_embeddings); }},
    {"lru_width", Member<RgLru, &RgLru::width>},
    {"kLruBlocks", Member<RgLru, &RgLru::blocks>},
    {"conv1d_width", Member<RgLru, &RgLru::conv_width>},
    {"intermediate_size", Member<Mamba, &Mamba::inner_dim>},
    {"state_size", Member<Mamba, &Mamba::state_dim>},
    {"time_step_rank", Member<Mamba, &Mamba::time_step_rank>},
    {"conv_kernel", Member<Mamba, &Mamba::conv_width>},
    {"expand * hidden_size",
     [](const ModelSpec& s) {
       return FactOf(LayersOf<Mamba2>(s, [](const Mamba2&) { return true; }), "0",
                     [](const Mamba2& m) { return Text(m.heads * m.head_dim); });
     }},
    {"num_heads", Member<Mamba2, &Mamba2::heads>},
    {"state_size", Member<Mamba2, &Mamba2::state_dim>},
    {"n_groups", Member<Mamba2, &Mamba2::groups>},
    {"conv_kernel", Member<Mamba2, &Mamba2::conv_width>},
    {"minimum of time_step_limit", Member<Mamba2, &Mamba2::time_step_min>},
    {"maximum of time_step_limit", Member<Mamba2, &Mamba2::time_step_max>},
    {"num_attention_heads", Member<LatentAttention, &LatentAttention::heads>},
    {"q_lora_rank", Member<LatentAttention, &LatentAttention::query_rank>},
    {"kv_lora_rank", Member<LatentAttention, &LatentAttention::latent_dim>},
    {"qk_rope_head_dim", Member<LatentAttention, &LatentAttention::rope_dim>},
    {"qk_nope_head_dim", Member<LatentAttention, &LatentAttention::nope_dim>},
    {"v_head_dim", Member<LatentAttention, &LatentAttention::value_dim>},
    {"rope_parameters", Member<LatentAttention, &LatentAttention::rope>},
    {"attention_bias", Member<Attention, &Attention::qkv_bias>},
    {"attention sinks", Member<Attention, &Attention::sinks>},
    {"attention_bias of o_proj", Member<Attention, &Attention::output_bias>},
    {"mlp_bias", Member<GatedFeedForward, &GatedFeedForward::bias>},
    {"width of kFeedForward", Member<FeedForward, &FeedForward::width>},
    {"activation of kFeedForward",
     [](const ModelSpec& s) {
       return FactOf(LayersOf<FeedForward>(s, [](const FeedForward&) { return true; }), "none",
                     [](const FeedForward& f) { return Text(NameOf(f.activation)); });
     }},
    {"bias of kFeedForward", Member<FeedForward, &FeedForward::bias>},
    {"kQKNorm",
     [](const ModelSpec& s) {
       return FactOf(LayersOf<Attention>(s, [](const Attention&) { return true; }), "false",
                     [](const Attention& a) { return Text(a.head_norm.has_value()); });
     }},
    {"kQKProjectionNorm",
     [](const ModelSpec& s) {
       return FactOf(LayersOf<Attention>(s, [](const Attention&) { return true; }), "false",
                     [](const Attention& a) { return Text(a.projection_norm.has_value()); });
     }},
    {"kPreNorms", [](const ModelSpec& s) { return Text(HasPreNorms(s)); }},
    {"kPostNorms", [](const ModelSpec& s) { return Text(HasPostNorms(s)); }},
    {"kUnitOffsetNorms", FinalNorm<RmsNorm, &RmsNorm::unit_offset>},
    {"weight of kNorm", FinalNorm<LayerNorm, &LayerNorm::weight>},
    {"bias of kNorm", FinalNorm<LayerNorm, &LayerNorm::bias>},
    {"norm of embeddings", [](const ModelSpec& s) { return Text(s.embedding_norm.has_value()); }},
    {"kScaleEmbeddings", [](const ModelSpec& s) { return Text(s.embedding_scale != EmbeddingScale::kNone); }},
    {"kRoundEmbeddingScale",
     [](const ModelSpec& s) { return Text(s.embedding_scale == EmbeddingScale::kRoundedSqrt); }},
};

/// Whether two texts are the same but for numbers that are as near as one float is to the next.
inline bool SameButForRounding(std::string_view a, std::string_view b) {
  constexpr double kTolerance = 1e-5;
  while (!a.empty() && !b.empty()) {
    double x = 0.0, y = 0.0;
    const auto of_a = std::from_chars(a.data(), a.data() + a.size(), x);
    const auto of_b = std::from_chars(b.data(), b.data() + b.size(), y);
    const bool numbers = of_a.ec == std::errc() && of_b.ec == std::errc();
    const bool is_near = x == y || std::abs(x - y) <= kTolerance * std::abs(x);  // of two infinities the first holds
    if (numbers ? !is_near : a.front() != b.front()) return false;
    a.remove_prefix(numbers ? static_cast<size_t>(of_a.ptr - a.data()) : 1);
    b.remove_prefix(numbers ? static_cast<size_t>(of_b.ptr - b.data()) : 1);
  }
  return a.empty() && b.empty();
}

/// Returns the facts in which two models differ, called by `names`; those that same(found, wanted) holds for do not.
template <class Same>
std::vector<std::string> FactsThatDiffer(const ModelSpec& actual, const ModelSpec& expected,
                                         std::span<const FactRenaming> names, Same same) {
  std::vector<std::string> differences;
  for (const ModelFact& fact : kModelFacts) {
    const std::string found = fact.text(actual), wanted = fact.text(expected);
    if (same(found, wanted)) continue;
    differences.push_back(std::string(FactName(names, fact.name)) + " (" + found + ", expected " + wanted + ")");
  }
  return differences;
}

}  // namespace internal

/// Returns the facts in which two models differ, as in "num_hidden_layers (23, expected 22)"; none if they are equal.
/// `names` are those of the file that tells of one of them, where they are not the usual ones.
inline std::vector<std::string> Differences(const ModelSpec& actual, const ModelSpec& expected,
                                            std::span<const internal::FactRenaming> names = {}) {
  if (actual == expected) return {};
  auto differences = internal::FactsThatDiffer(actual, expected, names, std::equal_to<std::string>());
  if (differences.empty()) differences.push_back("the sizes of some blocks");
  return differences;
}

/// The same of a model that a GGUF file tells of, whose numbers were rounded to floats; of facts that are told by name
/// alone.
inline std::vector<std::string> DifferencesBeyondRounding(const ModelSpec& actual, const ModelSpec& expected) {
  if (actual == expected) return {};
  return internal::FactsThatDiffer(actual, expected, internal::kGgufFactNames, internal::SameButForRounding);
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DIFFERENCES_H_
