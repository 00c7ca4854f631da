// SPDX-License-Identifier: Apache-2.0
//
// Configs: a Config is a struct of `static constexpr` facts about one model's architecture. The concept ModelConfig
// lists the required members. ShortFormOf reads a Config with the defaults of its optional members, so that it mentions
// only the features it has; ShortForm says what each member means. SpecOf is the model that a Config describes, and
// CheckConfig refuses impossible models, in full sentences.
//
// In the long form a Config gives the model itself, blocks with layers of any types, a user's own included:
//   kName; using Layers = LayerTypes<...>, all types that occur; static constexpr ModelSpec Spec().
//
// In the short form every Config gives kName, kModelDim, kVocabSize, kLayers, kTiedEmbeddings, kNormEpsilon.
//   Optional: kFinalSoftcap, kPreNorms, kPostNorms, kUnitOffsetNorms, kScaleEmbeddings, kRoundEmbeddingScale,
//   kEmbeddingMultiplier, kResidualMultiplier, kLogitsScaling, kParallelLayers, kHeadBias, kNormedHead; and
//   kModelType, the "model_type" of Hugging Face's config.json, by which find_named.h recognises checkpoints. kNorm, a
//   LayerNorm or a norm of your own, takes the place of kNormEpsilon and kUnitOffsetNorms.
// With gated feed-forward blocks: kFeedForwardDim, kActivation. Optional: kFeedForwardBias.
//   Or kFeedForward, a layer of any type: FeedForward, which has no gate, MixtureOfExperts, or one of your own; and
//   then kDenseLayers, a std::array of the numbers of layers that have kFeedForwardDim and kActivation all the same, or
//   kSharedFeedForward, true where every layer has both side by side.
// With attention layers: kHeads, kKVHeads, kHeadDim, and kRope unless all are kNopeAttention; with sliding ones
//   kWindow. Optional: kSlidingRope, kRotaryDim, kAttentionSoftcap, kQueryPreScale, kQKVBias, kAttentionOutputBias,
//   kQKNorm, kNormAfterRope, kQKProjectionNorm, kInterleavedRope, kBothWays; kRopeFactors and kShortRopeFactors, each a
//   std::array, are those of kRope.
// With recurrent layers: kConvWidth; kRgLru needs kLruWidth and kLruBlocks, kMamba needs kInnerDim, kStateDim and
//   kTimeStepRank, kMamba2 needs kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups. Optional for
//   kMamba2: kTimeStepLimit, a std::array of the two bounds that time steps are clamped to.
//
// In both forms `using WeightTypes = FloatWeights` (base/numbers/group_types.h) says that the weights are never
// quantised: a program then compiles nothing for types that it has no use for, which halves the time of a small one.

#ifndef SKALD_FAMILIES_CONFIG_MODEL_CONFIG_H_
#define SKALD_FAMILIES_CONFIG_MODEL_CONFIG_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/cache/layout/layout.h"
#include "skald/families/config/described_model.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/short_form.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// A Config that says how rows are normalised: by RMSNorm with this epsilon, or by a norm of any type.
template <class C>
concept HasNormEpsilon = requires {
  { C::kNormEpsilon } -> std::convertible_to<float>;
};
template <class C>
concept HasNorm = requires {
  { C::kNorm } -> std::convertible_to<NormSpec>;
};
template <class C>
concept SaysNorm = HasNormEpsilon<C> || HasNorm<C>;

/// A Config that names the sizes that its layers share.
template <class C>
concept ShortConfig = SaysNorm<C> && requires {
  { C::kName } -> std::convertible_to<std::string_view>;
  { C::kModelDim } -> std::convertible_to<int>;   // width of the residual stream
  { C::kVocabSize } -> std::convertible_to<int>;  // rows of the embedding
  { C::kLayers[0] } -> std::convertible_to<LayerKind>;
  { C::kLayers.size() } -> std::convertible_to<size_t>;  // a std::array, as RepeatLayers returns
  { C::kTiedEmbeddings } -> std::convertible_to<bool>;   // output head = embedding matrix
};

/// A Config that lists its blocks.
template <class C>
concept LongConfig = requires {
  { C::kName } -> std::convertible_to<std::string_view>;
  { C::Spec() } -> std::same_as<ModelSpec>;
  { C::Layers::Functions() } -> std::same_as<std::vector<LayerFunction>>;
};

template <class C>
concept ModelConfig = LongConfig<C> || ShortConfig<C>;

template <class C>
constexpr bool HasLayerKind(LayerKind kind) {
  for (const LayerKind layer : C::kLayers) {
    if (layer == kind) return true;
  }
  return false;
}

template <class C>
constexpr bool HasAttention() {
  return std::ranges::any_of(C::kLayers, IsAttention);
}

namespace internal {

template <class C>
constexpr void ReadSizes(ShortForm& a) {
  if constexpr (requires { C::kModelType; }) a.model_type = C::kModelType;
  if constexpr (requires { C::kModelDim; }) a.model_dim = C::kModelDim;
  if constexpr (requires { C::kVocabSize; }) a.vocab_size = C::kVocabSize;
  if constexpr (requires { C::kLayers; }) a.layers.assign(std::begin(C::kLayers), std::end(C::kLayers));
  if constexpr (requires { C::kNormEpsilon; }) a.norm_epsilon = C::kNormEpsilon;
  if constexpr (requires { C::kNorm; }) a.norm.emplace(C::kNorm);
  if constexpr (requires { C::kTiedEmbeddings; }) a.tied_embeddings = C::kTiedEmbeddings;
  if constexpr (requires { C::kFinalSoftcap; }) a.final_softcap = C::kFinalSoftcap;
  if constexpr (requires { C::kEmbeddingMultiplier; }) a.embedding_multiplier = C::kEmbeddingMultiplier;
  if constexpr (requires { C::kResidualMultiplier; }) a.residual_multiplier = C::kResidualMultiplier;
  if constexpr (requires { C::kLogitsScaling; }) a.logits_scaling = C::kLogitsScaling;
  if constexpr (requires { C::kPreNorms; }) a.pre_norms = C::kPreNorms;
  if constexpr (requires { C::kPostNorms; }) a.post_norms = C::kPostNorms;
  if constexpr (requires { C::kUnitOffsetNorms; }) a.unit_offset_norms = C::kUnitOffsetNorms;
  if constexpr (requires { C::kScaleEmbeddings; }) a.scaled_embeddings = C::kScaleEmbeddings;
  if constexpr (requires { C::kRoundEmbeddingScale; }) a.rounded_embedding_scale = C::kRoundEmbeddingScale;
  if constexpr (requires { C::kFeedForwardDim; }) a.feed_forward_dim = C::kFeedForwardDim;
  if constexpr (requires { C::kFeedForward; }) a.feed_forward.emplace(C::kFeedForward);
  if constexpr (requires { C::kSharedFeedForward; }) a.shared_feed_forward = C::kSharedFeedForward;
  if constexpr (requires { C::kParallelLayers; }) a.parallel_layers = C::kParallelLayers;
  if constexpr (requires { C::kHeadBias; }) a.head_bias = C::kHeadBias;
  if constexpr (requires { C::kNormedHead; }) a.normed_head = C::kNormedHead;
  if constexpr (requires { C::kDenseLayers; })
    a.dense_layers.assign(std::begin(C::kDenseLayers), std::end(C::kDenseLayers));
  if constexpr (requires { C::kActivation; }) a.activation = C::kActivation;
  if constexpr (requires { C::kFeedForwardBias; }) a.feed_forward_bias = C::kFeedForwardBias;
}

template <class C>
constexpr void ReadAttention(ShortForm& a) {
  if constexpr (requires { C::kHeads; }) a.heads = C::kHeads;
  if constexpr (requires { C::kKVHeads; }) a.kv_heads = C::kKVHeads;
  if constexpr (requires { C::kHeadDim; }) a.head_dim = C::kHeadDim;
  a.rotary_dim = a.head_dim;
  a.query_pre_scale = a.head_dim;
  if constexpr (requires { C::kRotaryDim; }) a.rotary_dim = C::kRotaryDim;
  if constexpr (requires { C::kQueryPreScale; }) a.query_pre_scale = C::kQueryPreScale;
  if constexpr (requires { C::kWindow; }) a.window = C::kWindow;
  if constexpr (requires { C::kRope; }) a.rope = C::kRope;
  if constexpr (requires { C::kRopeFactors; })
    a.rope.factors.assign(std::begin(C::kRopeFactors), std::end(C::kRopeFactors));
  if constexpr (requires { C::kShortRopeFactors; })
    a.rope.short_factors.assign(std::begin(C::kShortRopeFactors), std::end(C::kShortRopeFactors));
  if constexpr (requires { C::kSlidingRope; }) a.sliding_rope = C::kSlidingRope;
  if constexpr (requires { C::kAttentionSoftcap; }) a.attention_softcap = C::kAttentionSoftcap;
  if constexpr (requires { C::kQKVBias; }) a.qkv_bias = C::kQKVBias;
  if constexpr (requires { C::kAttentionOutputBias; }) a.attention_output_bias = C::kAttentionOutputBias;
  if constexpr (requires { C::kQKNorm; }) a.qk_norm = C::kQKNorm;
  if constexpr (requires { C::kQKProjectionNorm; }) a.qk_projection_norm = C::kQKProjectionNorm;
  if constexpr (requires { C::kNormAfterRope; }) a.norm_after_rope = C::kNormAfterRope;
  if constexpr (requires { C::kBothWays; }) a.both_ways = C::kBothWays;
  if constexpr (requires { C::kInterleavedRope; }) a.interleaved_rope = C::kInterleavedRope;
}

template <class C>
constexpr void ReadRecurrence(ShortForm& a) {
  if constexpr (requires { C::kConvWidth; }) {
    a.rg_lru.conv_width = a.mamba.conv_width = a.mamba2.conv_width = C::kConvWidth;
  }
  if constexpr (requires { C::kStateDim; }) a.mamba.state_dim = a.mamba2.state_dim = C::kStateDim;
  if constexpr (requires { C::kLruWidth; }) a.rg_lru.width = C::kLruWidth;
  if constexpr (requires { C::kLruBlocks; }) a.rg_lru.blocks = C::kLruBlocks;
  if constexpr (requires { C::kInnerDim; }) a.mamba.inner_dim = C::kInnerDim;
  if constexpr (requires { C::kTimeStepRank; }) a.mamba.time_step_rank = C::kTimeStepRank;
  if constexpr (requires { C::kSsmHeads; }) a.mamba2.heads = C::kSsmHeads;
  if constexpr (requires { C::kSsmHeadDim; }) a.mamba2.head_dim = C::kSsmHeadDim;
  if constexpr (requires { C::kSsmGroups; }) a.mamba2.groups = C::kSsmGroups;
  if constexpr (requires { C::kTimeStepLimit; }) {
    a.mamba2.time_step_min = C::kTimeStepLimit[0];
    a.mamba2.time_step_max = C::kTimeStepLimit[1];
  }
}

}  // namespace internal

/// Returns what a Config says; or a family, the struct that Configs inherit from and that lacks the sizes.
template <class C>
constexpr ShortForm ShortFormOf() {
  ShortForm a;
  internal::ReadSizes<C>(a);
  internal::ReadAttention<C>(a);
  internal::ReadRecurrence<C>(a);
  return a;
}

/// Returns the model that a Config describes.
template <ModelConfig C>
constexpr ModelSpec SpecOf() {
  if constexpr (LongConfig<C>)
    return C::Spec();
  else
    return Expand(ShortFormOf<C>());
}

/// Returns the same with its names, by which it is recognised (find_named.h).
template <ModelConfig C>
NamedSpec NamedSpecOf() {
  static_assert(
      requires { C::kModelType; },
      "A Config must give kModelType, the \"model_type\" of config.json, to be recognised by it.");
  return {C::kName, C::kModelType, SpecOf<C>()};
}

/// Returns the layout of a model's cache.
template <ModelConfig C>
constexpr CacheLayout LayoutOf() {
  return LayoutOf(SpecOf<C>());
}

/// Returns how C's layers are computed: of the types that it has, and no others, so that no more is compiled.
template <ModelConfig C>
std::vector<LayerFunction> LayerFunctionsOf() {
  if constexpr (LongConfig<C>) {
    return C::Layers::Functions();
  } else {
    std::vector<LayerFunction> functions;
    if constexpr (HasAttention<C>()) functions.push_back(LayerFunctionOf<Attention>());
    if constexpr (HasLayerKind<C>(LayerKind::kRgLru)) functions.push_back(LayerFunctionOf<RgLru>());
    if constexpr (HasLayerKind<C>(LayerKind::kMamba)) functions.push_back(LayerFunctionOf<Mamba>());
    if constexpr (HasLayerKind<C>(LayerKind::kMamba2)) functions.push_back(LayerFunctionOf<Mamba2>());
    if constexpr (requires { C::kFeedForwardDim; }) functions.push_back(LayerFunctionOf<GatedFeedForward>());
    if constexpr (requires { C::kFeedForward; }) {
      functions.push_back(LayerFunctionOf<std::remove_cvref_t<decltype(C::kFeedForward)>>());
    }
    return functions;
  }
}

namespace internal {

template <class C>
auto ListWeightTypes() {
  if constexpr (requires { typename C::WeightTypes; })
    return typename C::WeightTypes{};
  else
    return AllWeights{};
}

}  // namespace internal

/// The types that C's matrices may have in memory.
template <ModelConfig C>
using WeightTypesOf = decltype(internal::ListWeightTypes<C>());

namespace internal {

/// Stops the build where a Config in the short form lacks a member that its layers need, or has one that none would
/// use.
template <ShortConfig C>
constexpr void CheckMembers() {
  static_assert(
      !requires { C::kFeedForwardDim; } || requires { C::kActivation; },
      "A Config with kFeedForwardDim must give kActivation.");
  static_assert(
      !requires { C::kFeedForwardDim; } || !requires { C::kFeedForward; } || requires { C::kDenseLayers; } ||
          requires { C::kSharedFeedForward; },
      "A Config must give kFeedForwardDim, for gated layers, or kFeedForward, and both only with kDenseLayers or "
      "kSharedFeedForward.");
  static_assert(
      !requires { C::kSharedFeedForward; } ||
          requires {
            C::kFeedForwardDim;
            C::kFeedForward;
          },
      "kSharedFeedForward needs kFeedForward and, for the layer beside it, kFeedForwardDim.");
  static_assert(
      !requires { C::kUnitOffsetNorms; } || !requires { C::kNorm; },
      "kUnitOffsetNorms is of RMSNorm and would be ignored beside kNorm.");
  constexpr bool kSlides = HasLayerKind<C>(LayerKind::kSlidingAttention);
  constexpr bool kMamba = HasLayerKind<C>(LayerKind::kMamba), kMamba2 = HasLayerKind<C>(LayerKind::kMamba2);
  static_assert(
      !(HasLayerKind<C>(LayerKind::kFullAttention) || kSlides) ||
          requires {
            C::kHeads;
            C::kKVHeads;
            C::kHeadDim;
            C::kRope;
          },
      "A Config with attention layers must give kHeads, kKVHeads, kHeadDim and kRope.");
  static_assert(
      !HasAttention<C>() ||
          requires {
            C::kHeads;
            C::kKVHeads;
            C::kHeadDim;
          },
      "A Config with kNopeAttention layers must give kHeads, kKVHeads and kHeadDim.");
  static_assert(!kSlides || ShortFormOf<C>().window > 0,
                "A Config with kSlidingAttention layers must give a positive kWindow.");
  static_assert(kSlides || !HasAttention<C>() || ShortFormOf<C>().window == 0,
                "kWindow is set, but no layer in kLayers is kSlidingAttention, so it would be ignored.");
  static_assert(
      !HasLayerKind<C>(LayerKind::kRgLru) ||
          requires {
            C::kLruWidth;
            C::kLruBlocks;
          },
      "A Config with kRgLru layers must give kLruWidth and kLruBlocks.");
  static_assert(
      !kMamba ||
          requires {
            C::kInnerDim;
            C::kStateDim;
            C::kTimeStepRank;
          },
      "A Config with kMamba layers must give kInnerDim, kStateDim and kTimeStepRank.");
  static_assert(
      !kMamba2 ||
          requires {
            C::kSsmHeads;
            C::kSsmHeadDim;
            C::kStateDim;
            C::kSsmGroups;
          },
      "A Config with kMamba2 layers must give kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups.");
}

/// A sentence as a value that can be part of a name. One with quotes in it would be told with backslashes.
struct Sentence {
  char text[256] = {};
  constexpr Sentence(const char* sentence) {  // NOLINT: a sentence is a Sentence
    for (size_t i = 0; sentence != nullptr && sentence[i] != 0; ++i) text[i] = sentence[i];
  }
};

/// Names the sentence in the compiler's words about the failure: some compilers tell the template's argument in full,
template <Sentence kWhyImpossible>
constexpr void RefuseIf() {
  static_assert(kWhyImpossible.text[0] == 0, "No model can be as this Config says.");
}
/// others those of a call.
void NoModelCanBeAsThisConfigSays();
constexpr bool Refuse(const char* why) {
  if (why != nullptr) NoModelCanBeAsThisConfigSays();
  return true;
}

}  // namespace internal

/// Instantiated wherever a Config is used, so that an impossible one stops the build.
template <ModelConfig C>
constexpr bool CheckConfig() {
  if constexpr (!LongConfig<C>) internal::CheckMembers<C>();
  constexpr const char* kWhy = WhyImpossible(SpecOf<C>());
  internal::RefuseIf<internal::Sentence(kWhy)>();
  static_assert(internal::Refuse(kWhy));
  return true;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_MODEL_CONFIG_H_
