// SPDX-License-Identifier: Apache-2.0
//
// A model's architecture as a run-time value: what a Config says at compile time, and what the metadata of a
// checkpoint says at run time, in one form, so that the two can be compared. Architectures whose numerics
// agree are equal: what no layer uses (a window without sliding layers, the factor of an unscaled RoPE) is
// left out.

#ifndef SKALD_CONFIGS_ARCHITECTURE_H_
#define SKALD_CONFIGS_ARCHITECTURE_H_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"

namespace skald {

// The members mean what the members of a Config of the same name mean (model_config.h). A plain value.
struct Architecture {
  std::string model_type;
  int model_dim = 0;
  int feed_forward_dim = 0;
  int vocab_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int rotary_dim = 0;
  std::vector<LayerKind> layers;
  Recurrences recurrences;               // of the recurrent layers
  int window = 0;                        // 0 without sliding layers
  RopeSpec rope;                         // of all layers,
  std::optional<RopeSpec> sliding_rope;  // unless the sliding ones have their own
  float norm_epsilon = 0.0f;
  Activation activation = Activation::kSilu;
  double query_pre_scale = 0.0;
  float attention_softcap = 0.0f;  // 0: none
  float final_softcap = 0.0f;      // 0: none
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool qk_norm = false;
  bool post_norms = false;
  bool unit_offset_norms = false;
  bool scaled_embeddings = false;
  bool rounded_embedding_scale = false;
};

namespace internal {

inline RopeSpec WithoutUnusedFields(const RopeSpec& rope) {
  if (rope.scaling == RopeScaling::kLlama3) return rope;
  if (rope.scaling == RopeScaling::kNone) return {.base = rope.base};
  return {.base = rope.base, .scaling = rope.scaling, .factor = rope.factor};
}

inline std::string Text(const std::string& value) { return value; }
inline std::string Text(bool value) { return value ? "true" : "false"; }
inline std::string Text(int value) { return std::to_string(value); }

// The shortest text that no other value of its type has, so equal texts mean equal values.
template <std::floating_point T>
std::string Text(T value) {
  if (value == std::floor(value) && std::abs(value) < T{1e9})
    return std::to_string(static_cast<int64_t>(value));
  char buffer[32];
  return std::string(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
}

// The names that Hugging Face's config.json uses.
inline std::string Text(LayerKind kind) {
  switch (kind) {
    case LayerKind::kFullAttention:
      return "full_attention";
    case LayerKind::kSlidingAttention:
      return "sliding_attention";
    case LayerKind::kRgLru:
      return "recurrent";
    case LayerKind::kMamba:
      return "mamba";
    case LayerKind::kMamba2:
      return "mamba2";
  }
  return "unknown";
}

inline std::string Text(Activation activation) { return std::string(NameOf(activation)); }
inline std::string Text(RopeScaling scaling) { return std::string(NameOf(scaling)); }

inline std::string Text(const std::optional<RopeSpec>& rope) {
  if (!rope) return "none";
  std::string text = Text(rope->base);
  if (rope->scaling != RopeScaling::kNone) text += " " + Text(rope->scaling) + " by " + Text(rope->factor);
  if (rope->scaling == RopeScaling::kLlama3) {
    text += " between " + Text(rope->low_frequency_factor) + " and " + Text(rope->high_frequency_factor) +
            " of " + Text(rope->original_context);
  }
  return text;
}

// The shortest pattern whose repetition gives the layers, as in "sliding_attention x5, full_attention x1".
inline std::string Text(const std::vector<LayerKind>& layers) {
  size_t period = 1;
  while (period < layers.size() && !std::equal(layers.begin() + period, layers.end(), layers.begin()))
    ++period;
  std::string text;
  for (size_t begin = 0; begin < std::min(period, layers.size());) {
    size_t end = begin;
    while (end < period && layers[end] == layers[begin]) ++end;
    text += (begin == 0 ? "" : ", ") + Text(layers[begin]) + " x" + std::to_string(end - begin);
    begin = end;
  }
  return text;
}

template <auto kMember>
std::string MemberText(const Architecture& architecture) {
  return Text(architecture.*kMember);
}

template <auto kMember>
std::string RopeText(const Architecture& architecture) {
  return Text(architecture.rope.*kMember);
}

template <auto kKind, auto kMember>
std::string RecurrenceText(const Architecture& architecture) {
  return Text((architecture.recurrences.*kKind).*kMember);
}

inline std::string Ratio(int part, int whole) {
  return Text(whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole));
}

struct ArchitectureField {
  // The usual one in config.json, or of the Config's member where config.json has none. Two families may use one name
  // for different things.
  const char* name;
  std::string (*text)(const Architecture&);
};

inline constexpr ArchitectureField kArchitectureFields[] = {
    {"model_type", MemberText<&Architecture::model_type>},
    {"hidden_size", MemberText<&Architecture::model_dim>},
    {"intermediate_size", MemberText<&Architecture::feed_forward_dim>},
    {"vocab_size", MemberText<&Architecture::vocab_size>},
    {"num_hidden_layers", [](const Architecture& a) { return std::to_string(a.layers.size()); }},
    {"num_attention_heads", MemberText<&Architecture::heads>},
    {"num_key_value_heads", MemberText<&Architecture::kv_heads>},
    {"head_dim", MemberText<&Architecture::head_dim>},
    {"partial_rotary_factor", [](const Architecture& a) { return Ratio(a.rotary_dim, a.head_dim); }},
    {"layer_types", MemberText<&Architecture::layers>},
    {"sliding_window", MemberText<&Architecture::window>},
    {"rope_theta", RopeText<&RopeSpec::base>},
    {"rope_type", RopeText<&RopeSpec::scaling>},
    {"factor of rope_scaling", RopeText<&RopeSpec::factor>},
    {"low_freq_factor", RopeText<&RopeSpec::low_frequency_factor>},
    {"high_freq_factor", RopeText<&RopeSpec::high_frequency_factor>},
    {"original_max_position_embeddings", RopeText<&RopeSpec::original_context>},
    {"rope_local_base_freq", MemberText<&Architecture::sliding_rope>},
    {"rms_norm_eps", MemberText<&Architecture::norm_epsilon>},
    {"hidden_act", MemberText<&Architecture::activation>},
    {"query_pre_attn_scalar", MemberText<&Architecture::query_pre_scale>},
    {"attn_logit_softcapping", MemberText<&Architecture::attention_softcap>},
    {"final_logit_softcapping", MemberText<&Architecture::final_softcap>},
    {"tie_word_embeddings", MemberText<&Architecture::tied_embeddings>},
    {"lru_width", RecurrenceText<&Recurrences::rg_lru, &RecurrenceSpec::width>},
    {"kLruBlocks", RecurrenceText<&Recurrences::rg_lru, &RecurrenceSpec::heads>},
    {"conv1d_width", RecurrenceText<&Recurrences::rg_lru, &RecurrenceSpec::conv_width>},
    {"intermediate_size", RecurrenceText<&Recurrences::mamba, &RecurrenceSpec::width>},
    {"state_size", RecurrenceText<&Recurrences::mamba, &RecurrenceSpec::state_dim>},
    {"time_step_rank", RecurrenceText<&Recurrences::mamba, &RecurrenceSpec::time_step_rank>},
    {"conv_kernel", RecurrenceText<&Recurrences::mamba, &RecurrenceSpec::conv_width>},
    {"expand * hidden_size", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::width>},
    {"num_heads", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::heads>},
    {"state_size", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::state_dim>},
    {"n_groups", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::groups>},
    {"conv_kernel", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::conv_width>},
    {"minimum of time_step_limit", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::time_step_min>},
    {"maximum of time_step_limit", RecurrenceText<&Recurrences::mamba2, &RecurrenceSpec::time_step_max>},
    {"kQKVBias", MemberText<&Architecture::qkv_bias>},
    {"kAttentionOutputBias", MemberText<&Architecture::attention_output_bias>},
    {"kFeedForwardBias", MemberText<&Architecture::feed_forward_bias>},
    {"kQKNorm", MemberText<&Architecture::qk_norm>},
    {"kPostNorms", MemberText<&Architecture::post_norms>},
    {"kUnitOffsetNorms", MemberText<&Architecture::unit_offset_norms>},
    {"kScaleEmbeddings", MemberText<&Architecture::scaled_embeddings>},
    {"kRoundEmbeddingScale", MemberText<&Architecture::rounded_embedding_scale>},
};

}  // namespace internal

namespace internal {

inline void DropAttention(Architecture& a) {
  a.heads = a.kv_heads = a.head_dim = a.rotary_dim = 0;
  a.rope = {};
  a.query_pre_scale = 0.0;
  a.attention_softcap = 0.0f;
  a.qkv_bias = a.attention_output_bias = a.qk_norm = false;
}

inline void DropFeedForward(Architecture& a) {
  a.activation = Activation::kSilu;
  a.feed_forward_bias = false;
}

}  // namespace internal

// Leaves out what no layer uses. Whoever fills an Architecture by hand calls it last.
inline void DropUnusedFields(Architecture& architecture) {
  const auto has = [&](LayerKind kind) { return std::ranges::count(architecture.layers, kind) > 0; };
  Recurrences& recurrences = architecture.recurrences;
  if (!has(LayerKind::kRgLru)) recurrences.rg_lru = {};
  if (!has(LayerKind::kMamba)) recurrences.mamba = {};
  if (!has(LayerKind::kMamba2)) recurrences.mamba2 = {};
  if (std::ranges::none_of(architecture.layers, IsAttention)) internal::DropAttention(architecture);
  if (architecture.feed_forward_dim == 0) internal::DropFeedForward(architecture);
  std::optional<RopeSpec>& sliding_rope = architecture.sliding_rope;
  if (!has(LayerKind::kSlidingAttention)) {
    architecture.window = 0;
    sliding_rope.reset();
  } else if (sliding_rope && !has(LayerKind::kFullAttention)) {
    architecture.rope = *sliding_rope;
  }
  architecture.rope = internal::WithoutUnusedFields(architecture.rope);
  if (sliding_rope) sliding_rope = internal::WithoutUnusedFields(*sliding_rope);
  if (sliding_rope == architecture.rope) sliding_rope.reset();
}

// Returns what all models of a family share: its type, its kind of feed-forward and norms, and those of its
// other members that have no size in them.
template <class Family>
Architecture DescribeFamily() {
  static_assert(
      requires { Family::kModelType; },
      "A Config must give kModelType, the \"model_type\" of config.json, to be recognised by it.");
  Architecture a;
  a.model_type = Family::kModelType;
  if constexpr (requires { Family::kActivation; }) a.activation = Family::kActivation;
  a.attention_softcap = AttentionSoftcapOf<Family>();
  a.final_softcap = FinalSoftcapOf<Family>();
  if constexpr (requires { Family::kTiedEmbeddings; }) a.tied_embeddings = Family::kTiedEmbeddings;
  if constexpr (requires { Family::kQueryPreScale; }) a.query_pre_scale = Family::kQueryPreScale;
  if constexpr (requires { Family::kRope; }) a.rope = Family::kRope;
  if constexpr (requires { Family::kSlidingRope; }) a.sliding_rope = Family::kSlidingRope;
  a.qkv_bias = HasQKVBias<Family>();
  a.attention_output_bias = HasAttentionOutputBias<Family>();
  a.feed_forward_bias = HasFeedForwardBias<Family>();
  a.qk_norm = HasQKNorm<Family>();
  a.post_norms = HasPostNorms<Family>();
  a.unit_offset_norms = HasUnitOffsetNorms<Family>();
  a.scaled_embeddings = HasScaledEmbeddings<Family>();
  a.rounded_embedding_scale = HasRoundedEmbeddingScale<Family>();
  return a;
}

template <ModelConfig C>
Architecture DescribeConfig() {
  static_assert(CheckConfig<C>());
  Architecture a = DescribeFamily<C>();
  a.model_dim = C::kModelDim;
  a.feed_forward_dim = FeedForwardDimOf<C>();
  a.vocab_size = C::kVocabSize;
  a.heads = HeadsOf<C>();
  a.kv_heads = KVHeadsOf<C>();
  a.head_dim = HeadDimOf<C>();
  a.rotary_dim = RotaryDimOf<C>();
  a.layers.assign(std::begin(C::kLayers), std::end(C::kLayers));
  a.recurrences = RecurrencesOf<C>();
  a.window = WindowOf<C>();
  a.norm_epsilon = C::kNormEpsilon;
  a.query_pre_scale = QueryPreScaleOf<C>();
  DropUnusedFields(a);
  return a;
}

// Returns the fields in which two architectures differ, as in "num_hidden_layers (23, expected 22)"; none if
// they are equal.
inline std::vector<std::string> Differences(const Architecture& actual, const Architecture& expected) {
  std::vector<std::string> differences;
  for (const internal::ArchitectureField& field : internal::kArchitectureFields) {
    const std::string found = field.text(actual), wanted = field.text(expected);
    if (found != wanted)
      differences.push_back(std::string(field.name) + " (" + found + ", expected " + wanted + ")");
  }
  return differences;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_ARCHITECTURE_H_
