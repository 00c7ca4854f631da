// SPDX-License-Identifier: Apache-2.0
//
// Says of a model, by the kinds of its layers, what the metadata of GGUF files of all architectures say alike: the
// inverse of what families read. Other values of single architectures are in tell_gguf.h and in the families' folders.

#ifndef SKALD_FAMILIES_READERS_DETAIL_GGUF_FACTS_H_
#define SKALD_FAMILIES_READERS_DETAIL_GGUF_FACTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/normed_feed_forward.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/kimi_delta.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/decayed_time_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/kinds/recurrent/short_conv.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald::internal {

// Calls visit(layer, number) with each layer of a kind and the number of the layer of the model that it is in.
template <class Kind, class Visit>
void ForEachLayer(const ModelSpec& spec, Visit visit) {
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const Kind* const found = layer.As<Kind>()) visit(*found, block.number);
    }
  }
}

// Returns the first layer of a kind for which `is_right` holds, or null.
template <class Kind, class IsRight>
const Kind* FindLayer(const ModelSpec& spec, IsRight is_right) {
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const Kind* const found = layer.As<Kind>();
      if (found != nullptr && is_right(*found)) return found;
    }
  }
  return nullptr;
}
template <class Kind>
const Kind* FindLayer(const ModelSpec& spec) {
  return FindLayer<Kind>(spec, [](const Kind&) { return true; });
}

// As the file will have it.
inline double Rounded(double value) { return static_cast<float>(value); }

// A number of each layer, 0 where the model has none; as one if it is the same of all layers. If none is there, null.
class NumbersOfLayers {
 public:
  explicit NumbersOfLayers(const ModelSpec& spec) : numbers_(NumLayers(spec), 0) {}

  void Set(uint32_t layer, int number) { numbers_[layer] = number; }

  nlohmann::json Value() const {
    if (std::ranges::count(numbers_, 0) == std::ssize(numbers_)) return {};
    const bool same = std::ranges::count(numbers_, numbers_.front()) == std::ssize(numbers_);
    return same ? nlohmann::json(numbers_.front()) : nlohmann::json(numbers_);
  }

 private:
  std::vector<int> numbers_;
};

// The tensors that hold factors of RoPE's frequencies.
struct RopeTensors {
  std::vector<float> divisors, long_divisors, short_divisors;
};

// Writes how frequencies of RoPE are scaled; returns what tensors say of it.
inline RopeTensors WriteRope(const RopeSpec& rope, int rotary_dim, nlohmann::json& fields) {
  constexpr float kNever = 1e30f;  // as divisor of what is not turned
  RopeTensors tensors;
  const auto pairs = static_cast<size_t>(rotary_dim) / 2;
  fields["rope.freq_base"] = Rounded(rope.base);
  switch (rope.scaling) {
    case RopeScaling::kNone:
      break;
    case RopeScaling::kLinear:
      fields["rope.scaling.type"] = "linear";
      fields["rope.scaling.factor"] = Rounded(rope.factor);
      break;
    case RopeScaling::kYarn: {
      fields["rope.scaling.type"] = "yarn";
      fields["rope.scaling.factor"] = Rounded(rope.factor);
      fields["rope.scaling.original_context_length"] = static_cast<uint32_t>(rope.original_context);
      fields["rope.scaling.yarn_beta_fast"] = Rounded(rope.high_frequency_factor);
      fields["rope.scaling.yarn_beta_slow"] = Rounded(rope.low_frequency_factor);
      const double factor = rope.attention_factor / YarnAttentionFactor(rope.factor);
      if (std::abs(factor - 1.0) > 1e-6) fields["rope.scaling.attn_factor"] = Rounded(factor);
      break;
    }
    case RopeScaling::kLongRope:
      fields["rope.scaling.type"] = "longrope";
      fields["rope.scaling.original_context_length"] = static_cast<uint32_t>(rope.original_context);
      fields["rope.scaling.attn_factor"] = rope.attention_factor;
      tensors.long_divisors = rope.factors;
      tensors.short_divisors = rope.short_factors;
      break;
    case RopeScaling::kLlama3:
      for (size_t i = 0; i < pairs; ++i) {
        const double plain = RopeFrequency({.base = rope.base}, i, 2 * pairs);
        tensors.divisors.push_back(static_cast<float>(plain / RopeFrequency(rope, i, 2 * pairs)));
      }
      break;
    case RopeScaling::kProportional:
      tensors.divisors.assign(pairs, kNever);
      std::fill_n(tensors.divisors.begin(), rope.turning_pairs, 1.0f);
      break;
  }
  return tensors;
}

inline void WriteLayer(const Mamba& layer, nlohmann::json& fields) {
  fields["ssm.conv_kernel"] = layer.conv_width;
  fields["ssm.inner_size"] = layer.inner_dim;
  fields["ssm.state_size"] = layer.state_dim;
  fields["ssm.time_step_rank"] = layer.time_step_rank;
}

inline void WriteLayer(const Mamba2& layer, nlohmann::json& fields) {
  fields["ssm.conv_kernel"] = layer.conv_width;
  fields["ssm.inner_size"] = layer.heads * layer.head_dim;
  fields["ssm.state_size"] = layer.state_dim;
  fields["ssm.time_step_rank"] = layer.heads;
  fields["ssm.group_count"] = layer.groups;
}

inline void WriteLayer(const GatedDeltaNet& layer, nlohmann::json& fields) {
  fields["ssm.conv_kernel"] = layer.conv_width;
  fields["ssm.inner_size"] = layer.value_heads * layer.value_dim;
  fields["ssm.state_size"] = layer.key_dim;
  fields["ssm.time_step_rank"] = layer.value_heads;
  fields["ssm.group_count"] = layer.key_heads;
}

inline void WriteLayer(const KimiDelta& layer, nlohmann::json& fields) {
  fields["ssm.conv_kernel"] = layer.conv_width;
  fields["kda.head_dim"] = layer.head_dim;
}

inline void WriteLayer(const ShortConv& layer, nlohmann::json& fields) {
  fields["shortconv.l_cache"] = layer.conv_width;
}

inline void WriteLayer(const RwkvTimeMix& layer, nlohmann::json& fields) {
  fields["wkv.head_size"] = layer.head_dim;
  fields["token_shift_count"] = 2;
  fields["attention.head_count"] = 0;
  fields["attention.decay_lora_rank"] = layer.decay_rank;
  fields["attention.iclr_lora_rank"] = layer.rate_rank;
  fields["attention.gate_lora_rank"] = layer.gate_rank;
  // The first layer has none.
  if (layer.value_rank > 0) fields["attention.value_residual_mix_lora_rank"] = layer.value_rank;
}

inline void WriteLayer(const RwkvDecayedTimeMix& layer, nlohmann::json& fields) {
  fields["wkv.head_size"] = layer.head_dim;
  fields["token_shift_count"] = 2;
  fields["attention.head_count"] = 0;
  fields["time_mix_extra_dim"] = layer.mix_rank;
  fields["time_decay_extra_dim"] = layer.decay_rank;
}

// Keys of all heads are parts of one latent, and so those of one head.
inline void WriteLayer(const LatentAttention& layer, nlohmann::json& fields) {
  fields["attention.head_count"] = layer.heads;
  if (layer.query_rank > 0) fields["attention.q_lora_rank"] = layer.query_rank;
  fields["attention.kv_lora_rank"] = layer.latent_dim;
  fields["attention.key_length"] = layer.latent_dim + layer.rope_dim;
  fields["attention.value_length"] = layer.latent_dim;
  fields["attention.key_length_mla"] = layer.nope_dim + layer.rope_dim;
  fields["attention.value_length_mla"] = layer.value_dim;
  fields["rope.dimension_count"] = layer.rope_dim;
}

inline void WriteLayer(const MixtureOfExperts& layer, nlohmann::json& fields) {
  fields["expert_count"] = layer.experts;
  fields["expert_used_count"] = layer.chosen;
  fields["expert_feed_forward_length"] = layer.width;
  if (layer.shared_width > 0) fields["expert_shared_feed_forward_length"] = layer.shared_width;
  if (layer.weight_scale != 1.0f) fields["expert_weights_scale"] = layer.weight_scale;
}

inline void WriteLayer(const NormedFeedForward& layer, nlohmann::json& fields) { WriteLayer(layer.experts, fields); }

// Layers of each of these kinds are alike, but for the first ones of RWKV-7.
template <class... Kinds>
void WriteLayersOf(const ModelSpec& spec, nlohmann::json& fields) {
  (ForEachLayer<Kinds>(spec, [&fields](const Kinds& layer, uint32_t) { WriteLayer(layer, fields); }), ...);
}

// Attention's facts are those of layers that see all, if there are any, with RoPE rather than without.
inline const Attention* UsualAttention(const ModelSpec& spec) {
  const auto rotates = [](const Attention& one) { return one.rotary_dim > 0; };
  const auto is_full = [&](const Attention& one) { return rotates(one) && one.window == 0; };
  if (const auto* const full = FindLayer<Attention>(spec, is_full)) return full;
  const auto* const rotating = FindLayer<Attention>(spec, rotates);
  return rotating != nullptr ? rotating : FindLayer<Attention>(spec);
}

inline RopeTensors WriteAttention(const Attention& attention, nlohmann::json& fields) {
  fields["attention.head_count"] = attention.heads;
  fields["attention.key_length"] = attention.head_dim;
  fields["attention.value_length"] = attention.head_dim;
  fields["attention.scale"] = Rounded(1.0 / std::sqrt(attention.query_pre_scale));
  if (attention.softcap > 0.0f) fields["attn_logit_softcapping"] = attention.softcap;
  if (attention.query_growth > 0.0f) fields["attention.temperature_scale"] = attention.query_growth;
  if (attention.both_ways) fields["attention.causal"] = false;
  if (attention.rotary_dim == 0) return {};
  fields["rope.dimension_count"] = attention.rotary_dim;
  return WriteRope(attention.rope, attention.rotary_dim, fields);
}

// Heads of keys, and widths of feed-forward layers, of each layer.
inline void WriteNumbersOfLayers(const ModelSpec& spec, nlohmann::json& fields) {
  NumbersOfLayers kv_heads(spec), widths(spec);
  int shared = 0;
  ForEachLayer<Attention>(spec, [&](const Attention& layer, uint32_t number) {
    kv_heads.Set(number, layer.kv_heads);
    shared += layer.shared_layer >= 0 ? 1 : 0;
  });
  ForEachLayer<LatentAttention>(spec, [&](const LatentAttention&, uint32_t number) { kv_heads.Set(number, 1); });
  int width = 0;
  const auto set_width = [&](const auto& layer, uint32_t number) {
    if (width == 0) width = layer.width;
    widths.Set(number, layer.width);
  };
  ForEachLayer<GatedFeedForward>(spec, set_width);
  ForEachLayer<FeedForward>(spec, set_width);
  ForEachLayer<RwkvChannelMix>(spec, set_width);
  ForEachLayer<NormedFeedForward>(
      spec, [&](const NormedFeedForward& layer, uint32_t number) { set_width(layer.dense, number); });
  if (const nlohmann::json value = kv_heads.Value(); !value.is_null()) fields["attention.head_count_kv"] = value;
  if (shared > 0) fields["attention.shared_kv_layers"] = shared;
  const nlohmann::json value = widths.Value();
  if (value.is_null()) return;
  const bool all = value.is_array() && std::ranges::count(value, nlohmann::json(0)) == 0;
  fields["feed_forward_length"] = all ? value : nlohmann::json(width);
}

// Writes the facts that models of all families have; returns what tensors say of RoPE.
inline RopeTensors WriteFacts(const ModelSpec& spec, uint32_t context, nlohmann::json& fields) {
  fields["block_count"] = NumLayers(spec);
  fields["context_length"] = context;
  fields["embedding_length"] = spec.model_dim;
  fields["vocab_size"] = spec.vocab_size;
  if (spec.final_softcap > 0.0f) fields["final_logit_softcapping"] = spec.final_softcap;
  if (spec.embedding_multiplier != 1.0f) fields["embedding_scale"] = spec.embedding_multiplier;
  if (spec.logits_scaling != 1.0f) fields["logit_scale"] = spec.logits_scaling;
  if (spec.per_layer_dim > 0) fields["embedding_length_per_layer_input"] = spec.per_layer_dim;
  const float residual = spec.blocks.front().residual_multiplier;
  if (residual != 1.0f) fields["residual_scale"] = residual;
  if (const auto* const norm = spec.final_norm.As<RmsNorm>()) {
    fields["attention.layer_norm_rms_epsilon"] = norm->epsilon;
  }
  if (const auto* const norm = spec.final_norm.As<LayerNorm>()) fields["attention.layer_norm_epsilon"] = norm->epsilon;
  WriteNumbersOfLayers(spec, fields);
  WriteLayersOf<Mamba, Mamba2, GatedDeltaNet, KimiDelta, ShortConv, RwkvTimeMix, RwkvDecayedTimeMix, LatentAttention,
                MixtureOfExperts, NormedFeedForward>(spec, fields);
  if (const auto* const experts = FindLayer<MixtureOfExperts>(spec); experts && !fields.contains("feed_forward_length"))
    fields["feed_forward_length"] = experts->width;
  const auto* const sliding = FindLayer<Attention>(spec, [](const Attention& one) { return one.window > 0; });
  if (sliding != nullptr) fields["attention.sliding_window"] = sliding->window;
  if (const auto* const latent = FindLayer<LatentAttention>(spec)) {
    return latent->rotates ? WriteRope(latent->rope, latent->rope_dim, fields) : RopeTensors();
  }
  const Attention* const attention = UsualAttention(spec);
  return attention == nullptr ? RopeTensors() : WriteAttention(*attention, fields);
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_GGUF_FACTS_H_
