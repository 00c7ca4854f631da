// SPDX-License-Identifier: Apache-2.0
//
// The facts of a model, each with the name that files give it and as a text that can be compared.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_MODEL_FACTS_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_MODEL_FACTS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/config/detail/fact_texts.h"
#include "skald/layers/kinds/altup/streams.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/kimi_delta.h"
#include "skald/layers/kinds/recurrent/lightning_attention.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/decayed_time_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/kinds/recurrent/selective_mamba2.h"
#include "skald/layers/kinds/wide_attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald::internal {

inline bool Rotates(const LayerSpec& layer) {
  const auto* attention = layer.As<Attention>();
  return attention != nullptr && attention->rotary_dim > 0;
}

inline bool Slides(const LayerSpec& layer) {
  const auto* attention = layer.As<Attention>();
  return attention != nullptr && attention->window > 0;
}

// Full layers that rotate or, where all slide, those.
inline Layers MainAttention(const ModelSpec& spec) {
  Layers full = LayersThat(spec, [](const LayerSpec& layer) { return Rotates(layer) && !Slides(layer); });
  return full.empty() ? LayersThat(spec, Rotates) : full;
}

template <class T>
std::string FactOfMainRope(const ModelSpec& spec, const T RopeSpec::*member) {
  std::vector<std::string> texts;
  for (const LayerSpec* const layer : MainAttention(spec)) {
    texts.push_back(Text(layer->As<Attention>()->rope.*member));
  }
  return Joint(texts, Text(RopeSpec().*member));
}

template <auto kMember>
std::string MainRope(const ModelSpec& spec) {
  return FactOfMainRope(spec, kMember);
}

// The RoPE that only sliding layers have.
inline std::string SlidingRope(const ModelSpec& spec) {
  const Layers main = MainAttention(spec), sliding = LayersThat(spec, Slides);
  const bool own = !main.empty() && std::ranges::any_of(sliding, [&](const LayerSpec* layer) {
    return layer->As<Attention>()->rope != main[0]->As<Attention>()->rope;
  });
  if (!own) return "none";
  return FactOf(sliding, "", [](const LayerSpec& layer) { return Text(layer.As<Attention>()->rope); });
}

inline bool IsOfAltUp(const LayerSpec& layer) {
  return layer.As<AltUpEntry>() != nullptr || layer.As<AltUpPrediction>() != nullptr ||
         layer.As<LaurelResidual>() != nullptr || layer.As<AltUpCorrection>() != nullptr ||
         layer.As<AltUpExit>() != nullptr;
}

// A layer's name in "layer_types"; nothing for feed-forward layers.
inline std::optional<std::string> MixerName(const LayerSpec& layer) {
  if (IsOfAltUp(layer)) return std::nullopt;
  if (layer.As<GatedFeedForward>() != nullptr || layer.As<FeedForward>() != nullptr) return std::nullopt;
  if (layer.As<MixtureOfExperts>() != nullptr || layer.As<RwkvChannelMix>() != nullptr) return std::nullopt;
  if (layer.As<CarriedInput>() != nullptr) return std::nullopt;
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
  std::vector<std::string> texts;
  for (const Block& block : spec.blocks) texts.push_back(Text(block.residual_multiplier));
  return Joint(texts, "1");
}

inline std::string NormedMultiplier(const ModelSpec& spec) {
  std::vector<std::string> texts;
  for (const Block& block : spec.blocks) texts.push_back(Text(block.normed_multiplier));
  return Joint(texts, "0");
}

inline bool HasPreNorms(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) { return block.norm.has_value(); });
}

inline bool HasPostNorms(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) { return block.post_norm.has_value(); });
}

inline bool HasBlocksBeside(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) { return block.beside_previous; });
}

inline bool HasOutputNorms(const ModelSpec& spec) {
  return !LayersThat(spec, [](const LayerSpec& layer) {
            return Is<Attention>(layer) && layer.As<Attention>()->output_norm.has_value();
          }).empty();
}

inline bool HasInnerNorms(const ModelSpec& spec) {
  return !LayersThat(spec, [](const LayerSpec& layer) {
            return Is<GatedFeedForward>(layer) && layer.As<GatedFeedForward>()->inner_norm.has_value();
          }).empty();
}

// Whether a mixer and a feed-forward layer are side by side.
inline bool HasParallelLayers(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const Block& block) {
    const auto is_mixer = [](const LayerSpec& layer) { return MixerName(layer).has_value(); };
    const auto mixers = std::ranges::count_if(block.layers, is_mixer);
    return mixers > 0 && static_cast<size_t>(mixers) < block.layers.size();
  });
}

// The properties of the final norm, which most models share with all norms; the standard if it is of another type.
template <Norm N, auto kMember>
std::string FinalNorm(const ModelSpec& spec) {
  const N* const norm = spec.final_norm.As<N>();
  return Text(norm != nullptr ? norm->*kMember : N().*kMember);
}

struct ModelFact {
  // The usual name in config.json, or of the Config's member where config.json has none. Two families may use one name
  // for different things, and some have names of their own (fact_names.h).
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
    {"router_jitter_noise * 2", Member<MixtureOfExperts, &MixtureOfExperts::mixer_reach>},
    {"rows before that routers read", Member<MixtureOfExperts, &MixtureOfExperts::carried_dim>},
    {"bias of what experts give together", Member<MixtureOfExperts, &MixtureOfExperts::sum_bias>},
    {"weights in front of the experts", Member<MixtureOfExperts, &MixtureOfExperts::weighs_input>},
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
    {"linear_num_heads", Member<KimiDelta, &KimiDelta::heads>},
    {"linear_head_dim", Member<KimiDelta, &KimiDelta::head_dim>},
    {"linear_conv_kernel_dim", Member<KimiDelta, &KimiDelta::conv_width>},
    {"num_attention_heads", Member<LightningAttention, &LightningAttention::heads>},
    {"head_dim", Member<LightningAttention, &LightningAttention::head_dim>},
    {"slopes of lightning attention", Member<LightningAttention, &LightningAttention::slope_factor>},
    {"num_heads", Member<SelectiveMamba2, &SelectiveMamba2::heads>},
    {"head_dim", Member<SelectiveMamba2, &SelectiveMamba2::head_dim>},
    {"state_size", Member<SelectiveMamba2, &SelectiveMamba2::state_dim>},
    {"time_step_rank", Member<SelectiveMamba2, &SelectiveMamba2::time_step_rank>},
    {"conv_kernel", Member<SelectiveMamba2, &SelectiveMamba2::conv_width>},
    {"intermediate_size", Member<RwkvChannelMix, &RwkvChannelMix::width>},
    {"activation_sparsity_pattern, as deviations", Member<GatedFeedForward, &GatedFeedForward::gate_deviations>},
    {"altup_num_inputs", Member<AltUpPrediction, &AltUpPrediction::streams>},
    {"laurel_rank", Member<LaurelResidual, &LaurelResidual::rank>},
    {"head_size", Member<RwkvDecayedTimeMix, &RwkvDecayedTimeMix::head_dim>},
    {"rank of mixes", Member<RwkvDecayedTimeMix, &RwkvDecayedTimeMix::mix_rank>},
    {"rank of decays", Member<RwkvDecayedTimeMix, &RwkvDecayedTimeMix::decay_rank>},
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
       return FactOf(LayersThat(s, Rotates), "0", [](const LayerSpec& layer) {
         const auto& attention = *layer.As<Attention>();
         return Text(static_cast<double>(attention.rotary_dim) / static_cast<double>(attention.head_dim));
       });
     }},
    {"layer_types", LayerTypesText},
    {"sliding_window",
     [](const ModelSpec& s) {
       return FactOf(LayersThat(s, Slides), "0",
                     [](const LayerSpec& layer) { return Text(layer.As<Attention>()->window); });
     }},
    {"rope_theta", MainRope<&RopeSpec::base>},
    {"rope_type",
     [](const ModelSpec& s) {
       return FactOf(MainAttention(s), "default",
                     [](const LayerSpec& layer) { return Text(NameOf(layer.As<Attention>()->rope.scaling)); });
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
       return FactOf(LayersThat(s, Is<GatedFeedForward>), "none",
                     [](const LayerSpec& layer) { return Text(NameOf(layer.As<GatedFeedForward>()->activation)); });
     }},
    {"query_pre_attn_scalar", Member<Attention, &Attention::query_pre_scale>},
    {"attn_logit_softcapping", Member<Attention, &Attention::softcap>},
    {"final_logit_softcapping", [](const ModelSpec& s) { return Text(s.final_softcap); }},
    {"embedding_multiplier", [](const ModelSpec& s) { return Text(s.embedding_multiplier); }},
    {"residual_multiplier", ResidualMultiplier},
    {"multiplier of normalised rows", NormedMultiplier},
    {"logits_scaling", [](const ModelSpec& s) { return Text(s.logits_scaling); }},
    {"tie_word_embeddings", [](const ModelSpec& s) { return Text(s.tied_embeddings); }},
    {"lru_width", Member<RgLru, &RgLru::width>},
    {"kLruBlocks", Member<RgLru, &RgLru::blocks>},
    {"conv1d_width", Member<RgLru, &RgLru::conv_width>},
    {"intermediate_size", Member<Mamba, &Mamba::inner_dim>},
    {"state_size", Member<Mamba, &Mamba::state_dim>},
    {"time_step_rank", Member<Mamba, &Mamba::time_step_rank>},
    {"conv_kernel", Member<Mamba, &Mamba::conv_width>},
    {"norms of what Mamba selects",
     [](const ModelSpec& s) {
       return FactOf(LayersThat(s, Is<Mamba>), "false",
                     [](const LayerSpec& layer) { return Text(layer.As<Mamba>()->selection_norm.has_value()); });
     }},
    {"expand * hidden_size",
     [](const ModelSpec& s) {
       return FactOf(LayersThat(s, Is<Mamba2>), "0", [](const LayerSpec& layer) {
         return Text(layer.As<Mamba2>()->heads * layer.As<Mamba2>()->head_dim);
       });
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
       return FactOf(LayersThat(s, Is<FeedForward>), "none",
                     [](const LayerSpec& layer) { return Text(NameOf(layer.As<FeedForward>()->activation)); });
     }},
    {"bias of kFeedForward", Member<FeedForward, &FeedForward::bias>},
    {"kQKNorm",
     [](const ModelSpec& s) {
       return FactOf(LayersThat(s, Is<Attention>), "false",
                     [](const LayerSpec& layer) { return Text(layer.As<Attention>()->head_norm.has_value()); });
     }},
    {"kQKProjectionNorm",
     [](const ModelSpec& s) {
       return FactOf(LayersThat(s, Is<Attention>), "false",
                     [](const LayerSpec& layer) { return Text(layer.As<Attention>()->projection_norm.has_value()); });
     }},
    {"factors of heads", Member<Attention, &Attention::head_factors>},
    {"attention_chunk_size", Member<Attention, &Attention::chunked>},
    {"norm of what heads give", [](const ModelSpec& s) { return Text(HasOutputNorms(s)); }},
    {"norm of what gates let pass", [](const ModelSpec& s) { return Text(HasInnerNorms(s)); }},
    {"kNormAfterRope", Member<Attention, &Attention::norm_after_rope>},
    {"kInterleavedRope", Member<Attention, &Attention::interleaved_rope>},
    {"kParallelLayers", [](const ModelSpec& s) { return Text(HasParallelLayers(s)); }},
    {"bias of the head", [](const ModelSpec& s) { return Text(s.head_bias); }},
    {"norm_head", [](const ModelSpec& s) { return Text(s.normed_head); }},
    {"blocks beside the one before", [](const ModelSpec& s) { return Text(HasBlocksBeside(s)); }},
    {"kPreNorms", [](const ModelSpec& s) { return Text(HasPreNorms(s)); }},
    {"kPostNorms", [](const ModelSpec& s) { return Text(HasPostNorms(s)); }},
    {"kUnitOffsetNorms", FinalNorm<RmsNorm, &RmsNorm::unit_offset>},
    {"weight of kNorm", FinalNorm<LayerNorm, &LayerNorm::weight>},
    {"bias of kNorm", FinalNorm<LayerNorm, &LayerNorm::bias>},
    {"attention both ways", Member<Attention, &Attention::both_ways>},
    {"norms of the stream",
     [](const ModelSpec& s) {
       return Text(std::ranges::any_of(s.blocks, [](const Block& block) { return block.stream_norm.has_value(); }));
     }},
    {"norms of sums with the stream",
     [](const ModelSpec& s) { return Text(std::ranges::any_of(s.blocks, &Block::norms_sum)); }},
    {"rows of positions", [](const ModelSpec& s) { return Text(s.positions); }},
    {"first position", [](const ModelSpec& s) { return Text(s.first_position); }},
    {"type_vocab_size", [](const ModelSpec& s) { return Text(s.token_types); }},
    {"heads of the bias of distances", [](const ModelSpec& s) { return Text(s.distance_bias.heads); }},
    {"groups of distances", [](const ModelSpec& s) { return Text(s.distance_bias.buckets); }},
    {"largest distance", [](const ModelSpec& s) { return Text(s.distance_bias.max_distance); }},
    {"longest text", [](const ModelSpec& s) { return Text(s.longest_text); }},
    {"norm of embeddings", [](const ModelSpec& s) { return Text(s.embedding_norm.has_value()); }},
    {"kScaleEmbeddings", [](const ModelSpec& s) { return Text(s.embedding_scale != EmbeddingScale::kNone); }},
    {"kRoundEmbeddingScale",
     [](const ModelSpec& s) { return Text(s.embedding_scale == EmbeddingScale::kRoundedSqrt); }},
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_MODEL_FACTS_H_
