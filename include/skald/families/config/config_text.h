// SPDX-License-Identifier: Apache-2.0
//
// A Config as C++ text, made from the description of a model, to be pasted into a program that compiles that one model.

#ifndef SKALD_FAMILIES_CONFIG_CONFIG_TEXT_H_
#define SKALD_FAMILIES_CONFIG_CONFIG_TEXT_H_

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/result.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/reflection.h"
#include "skald/families/config/short_form.h"
#include "skald/families/config/shorten.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {
namespace internal {

bool IsWordCharacter(char c);

/// Returns a name for a struct, as in "Gemma_2_2b_it" for "gemma-2-2b-it".
std::string StructName(std::string_view name);

/// Each returns an expression of C++ that has this value.
std::string Literal(std::string_view text);
inline std::string Literal(const FixedText& text) { return Literal(std::string_view(text)); }
std::string Literal(const std::vector<float>& values);
inline std::string Literal(bool value) { return value ? "true" : "false"; }
template <std::integral T>
std::string Literal(T value) {
  return std::to_string(value);
}
template <std::floating_point T>
std::string Literal(T value) {
  const std::string_view type = std::is_same_v<T, float> ? "float" : "double";
  if (std::isinf(value)) return "std::numeric_limits<" + std::string(type) + ">::infinity()";
  char buffer[32];
  std::string text(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return type == "float" ? text + "f" : text;
}
template <class E>
requires std::is_enum_v<E> std::string Literal(E value) {
  std::string text;
  ForEachEnumerator<E>([&](E one, std::string_view name) {
    if (one == value) text = name;
  });
  return text;
}

/// Joins expressions with commas.
class List {
 public:
  void Add(std::string_view name, const std::string& value);
  /// Leaves out what is so by default.
  void AddUnless(const std::string& standard, std::string_view name, const std::string& value);
  std::string InBraces() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

template <class Layers, class Norms>
class Expressions;

/// Expressions for the value of a part of a model, whose layers and norms are of the types of the lists. For other
/// types, the name remains.
template <Layer... L, Norm... N>
class Expressions<LayerTypes<L...>, NormTypes<N...>> {
 public:
  const std::string& unknown() const { return unknown_; }

  std::string Of(const LayerSpec& layer) { return OfHeld<L...>(layer); }
  std::string Of(const NormSpec& norm) { return OfHeld<N...>(norm); }
  template <class T>
  std::string Of(const std::optional<T>& value) {
    return value ? Of(*value) : "std::nullopt";
  }
  template <class T>
  std::string Of(const T& value) {
    if constexpr (HasFields<T>) {
      std::map<std::string_view, std::string> standard;
      const T by_default;
      T::VisitFields(by_default, [&](std::string_view name, const auto& member) { standard[name] = Of(member); });
      List members;
      T::VisitFields(value, [&](std::string_view name, const auto& member) {
        members.AddUnless(standard[name], name, Of(member));
      });
      return std::string(TypeName<T>()) + members.InBraces();
    } else {
      return Literal(value);
    }
  }

 private:
  template <class... T>
  std::string OfHeld(const auto& held) {
    std::string text;
    ((held.template As<T>() != nullptr ? void(text = Of(*held.template As<T>())) : void()), ...);
    if (text.empty()) unknown_ = held.name();
    return text;
  }

  std::string unknown_;
};

/// The shortest pattern that the layers repeat, to be told as RepeatLayers<count>({...}).
std::string LayersText(const std::vector<LayerKind>& layers);

/// Breaks a line at its commas.
std::string Wrapped(const std::string& line, size_t indent);

/// The lines of a struct.
class Members {
 public:
  // A member of a type that needs no header but those of C++, or is an enum.
  template <class T>
  void Add(std::string_view name, const T& value) {
    AddExpression(std::is_same_v<T, std::string_view> ? "std::string_view" : TypeName<T>(), name, Literal(value));
  }
  /// Leaves out what is so by default.
  template <class T>
  void AddUnless(const T& standard, std::string_view name, const T& value) {
    if (value != standard) Add(name, value);
  }
  void AddExpression(std::string_view type, std::string_view name, const std::string& value);
  void AddLine(const std::string& line, size_t indent = 2) { text_ += Wrapped(line, indent); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A member of a Config has no lists inside: they are members of their own.
inline void AddRope(RopeSpec rope, auto& expressions, Members& members) {
  for (const auto& [name, factors] :
       {std::pair("kRopeFactors", &rope.factors), std::pair("kShortRopeFactors", &rope.short_factors)}) {
    if (factors->empty()) continue;
    members.AddExpression("std::array<float, " + std::to_string(factors->size()) + ">", name, Literal(*factors));
    factors->clear();
  }
  members.AddExpression("skald::RopeSpec", "kRope", expressions.Of(rope));
}

inline void AddAttention(const ShortForm& a, auto& expressions, Members& members) {
  members.Add("kHeads", a.heads);
  members.Add("kKVHeads", a.kv_heads);
  members.Add("kHeadDim", a.head_dim);
  const bool rotates = std::ranges::any_of(
      a.layers, [](LayerKind kind) { return IsAttention(kind) && kind != LayerKind::kNopeAttention; });
  if (rotates) AddRope(a.rope, expressions, members);
  if (a.sliding_rope) members.AddExpression("skald::RopeSpec", "kSlidingRope", expressions.Of(*a.sliding_rope));
  members.AddUnless(a.head_dim, "kRotaryDim", a.rotary_dim);
  members.AddUnless(0, "kWindow", a.window);
  members.AddUnless(static_cast<double>(a.head_dim), "kQueryPreScale", a.query_pre_scale);
  members.AddUnless(0.0f, "kAttentionSoftcap", a.attention_softcap);
  members.AddUnless(false, "kQKVBias", a.qkv_bias);
  members.AddUnless(false, "kAttentionOutputBias", a.attention_output_bias);
  members.AddUnless(false, "kQKNorm", a.qk_norm);
  members.AddUnless(false, "kQKProjectionNorm", a.qk_projection_norm);
  members.AddUnless(false, "kNormAfterRope", a.norm_after_rope);
  members.AddUnless(false, "kBothWays", a.both_ways);
  members.AddUnless(false, "kInterleavedRope", a.interleaved_rope);
}

/// Sizes of recurrent layers. Kinds that have a member in common agree on it, or there would be no short form.
void AddRecurrence(const ShortForm& a, Members& members);

inline void AddShortForm(const ShortForm& a, auto& expressions, Members& members) {
  members.Add("kModelDim", a.model_dim);
  members.Add("kVocabSize", a.vocab_size);
  members.AddExpression("auto", "kLayers", LayersText(a.layers));
  if (a.norm) {
    members.AddExpression("auto", "kNorm", expressions.Of(*a.norm));
  } else {
    members.Add("kNormEpsilon", a.norm_epsilon);
  }
  members.Add("kTiedEmbeddings", a.tied_embeddings);
  members.AddUnless(0.0f, "kFinalSoftcap", a.final_softcap);
  members.AddUnless(1.0f, "kEmbeddingMultiplier", a.embedding_multiplier);
  members.AddUnless(1.0f, "kResidualMultiplier", a.residual_multiplier);
  members.AddUnless(1.0f, "kLogitsScaling", a.logits_scaling);
  members.AddUnless(true, "kPreNorms", a.pre_norms);
  members.AddUnless(false, "kPostNorms", a.post_norms);
  members.AddUnless(false, "kUnitOffsetNorms", a.unit_offset_norms);
  members.AddUnless(false, "kScaleEmbeddings", a.scaled_embeddings);
  members.AddUnless(false, "kRoundEmbeddingScale", a.rounded_embedding_scale);
  if (a.feed_forward_dim > 0) {
    members.Add("kFeedForwardDim", a.feed_forward_dim);
    members.Add("kActivation", a.activation);
    members.AddUnless(false, "kFeedForwardBias", a.feed_forward_bias);
  }
  if (a.feed_forward) members.AddExpression("auto", "kFeedForward", expressions.Of(*a.feed_forward));
  members.AddUnless(false, "kSharedFeedForward", a.shared_feed_forward);
  members.AddUnless(false, "kParallelLayers", a.parallel_layers);
  members.AddUnless(false, "kHeadBias", a.head_bias);
  members.AddUnless(false, "kNormedHead", a.normed_head);
  if (std::ranges::any_of(a.layers, IsAttention)) AddAttention(a, expressions, members);
  AddRecurrence(a, members);
}

/// Whether the short form that the text says is `a`: kinds of recurrent layers share members, only one RoPE may have
/// factors, and no member tells norms within Mamba.
bool SharedMembersAgree(const ShortForm& a);

/// Those of the types that the model has.
template <Layer... L>
std::string TypesIn(const ModelSpec& spec, LayerTypes<L...>) {
  std::string types;
  const auto add = [&]<class One>() {
    for (const Block& block : spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        if (layer.As<One>() == nullptr) continue;
        types.append(types.empty() ? "" : ", ").append(TypeName<One>());
        return;
      }
    }
  };
  (add.template operator()<L>(), ...);
  return "skald::LayerTypes<" + types + ">";
}

inline void AddBlock(const Block& block, auto& expressions, Members& members) {
  const Block standard;
  List parts, layers;
  for (const LayerSpec& layer : block.layers) layers.Add("", expressions.Of(layer));
  parts.Add("number", Literal(block.number));
  parts.Add("norm", expressions.Of(block.norm));
  parts.AddUnless(Literal(standard.norm_name), "norm_name", Literal(block.norm_name));
  parts.Add("layers", layers.InBraces());
  parts.AddUnless(expressions.Of(standard.post_norm), "post_norm", expressions.Of(block.post_norm));
  parts.AddUnless(Literal(standard.post_norm_name), "post_norm_name", Literal(block.post_norm_name));
  parts.AddUnless(Literal(1.0f), "residual_multiplier", Literal(block.residual_multiplier));
  parts.AddUnless(Literal(false), "learned_scale", Literal(block.learned_scale));
  parts.AddUnless(Literal(false), "beside_previous", Literal(block.beside_previous));
  parts.AddUnless(Literal(false), "norms_sum", Literal(block.norms_sum));
  parts.AddUnless(Literal(0.0f), "normed_multiplier", Literal(block.normed_multiplier));
  parts.AddUnless(expressions.Of(standard.stream_norm), "stream_norm", expressions.Of(block.stream_norm));
  parts.AddUnless(Literal(standard.stream_norm_name), "stream_norm_name", Literal(block.stream_norm_name));
  members.AddLine("spec.blocks.push_back(" + parts.InBraces() + ");", 4);
}

template <class Types>
void AddLongForm(const ModelSpec& spec, auto& expressions, Members& members) {
  members.AddLine("using Layers = " + TypesIn(spec, Types()) + ";");
  members.AddLine("static constexpr skald::ModelSpec Spec() {");
  List facts;
  const ModelSpec standard;
  facts.Add("model_dim", Literal(spec.model_dim));
  facts.Add("vocab_size", Literal(spec.vocab_size));
  facts.Add("tied_embeddings", Literal(spec.tied_embeddings));
  facts.AddUnless(Literal(standard.embedding_scale), "embedding_scale", Literal(spec.embedding_scale));
  facts.Add("final_norm", expressions.Of(spec.final_norm));
  facts.AddUnless(Literal(standard.final_softcap), "final_softcap", Literal(spec.final_softcap));
  facts.AddUnless(Literal(1.0f), "embedding_multiplier", Literal(spec.embedding_multiplier));
  facts.AddUnless(Literal(1.0f), "logits_scaling", Literal(spec.logits_scaling));
  facts.AddUnless(Literal(0), "per_layer_dim", Literal(spec.per_layer_dim));
  facts.AddUnless(Literal(0), "per_layer_vocab", Literal(spec.per_layer_vocab));
  if (spec.embedding_norm) facts.Add("embedding_norm", expressions.Of(*spec.embedding_norm));
  facts.AddUnless(Literal(false), "head_bias", Literal(spec.head_bias));
  facts.AddUnless(Literal(false), "normed_head", Literal(spec.normed_head));
  facts.AddUnless(Literal(0), "positions", Literal(spec.positions));
  facts.AddUnless(Literal(0), "first_position", Literal(spec.first_position));
  facts.AddUnless(Literal(0), "token_types", Literal(spec.token_types));
  if (const DistanceBias& bias = spec.distance_bias; bias.heads > 0) {
    List parts;
    parts.Add("heads", Literal(bias.heads));
    parts.Add("buckets", Literal(bias.buckets));
    parts.Add("max_distance", Literal(bias.max_distance));
    facts.Add("distance_bias", parts.InBraces());
  }
  facts.AddUnless(Literal(0), "longest_text", Literal(spec.longest_text));
  members.AddLine("skald::ModelSpec spec = " + facts.InBraces() + ";", 4);
  for (const Block& block : spec.blocks) AddBlock(block, expressions, members);
  members.AddLine("return spec;", 4);
  members.AddLine("}");
}

}  // namespace internal

/// Returns a file of C++ with a Config of the model: in the short form if its blocks repeat, else in the long one.
/// `name` becomes its kName and, as far as C++ allows, the struct's; a model_type that is empty is left out. Types and
/// Norms list the types of its layers and norms. Error: kUnsupported for one of another type.
template <class Types = StandardLayers, class Norms = StandardNorms>
Result<std::string> ConfigText(const DescribedModel& model, std::string_view name) {
  return NoThrow("the text of a Config", [&]() -> Result<std::string> {
    internal::Members members;
    internal::Expressions<Types, Norms> expressions;
    members.Add("kName", name);
    if (!model.model_type.empty()) members.Add("kModelType", model.model_type);
    const std::optional<ShortForm> short_form = Shorten(model.spec);
    if (short_form && internal::SharedMembersAgree(*short_form)) {
      internal::AddShortForm(*short_form, expressions, members);
    } else {
      internal::AddLongForm<Types>(model.spec, expressions, members);
    }
    if (!expressions.unknown().empty()) {
      return Fail(ErrorCode::kUnsupported, "the text of a Config cannot name the type of '" + expressions.unknown() +
                                               "', which is none it knows");
    }
    return "#include <array>\n#include <limits>\n#include <string_view>\n\n"
           "#include \"skald/families/config/model_config.h\"\n\nstruct " +
           internal::StructName(name) + " {\n" + members.text() + "};\n";
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/config/detail/config_text.h"
#endif

#endif  // SKALD_FAMILIES_CONFIG_CONFIG_TEXT_H_
