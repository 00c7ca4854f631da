// SPDX-License-Identifier: Apache-2.0
//
// What a Config is: a struct of `static constexpr` facts about one model's architecture. The concept
// ModelConfig lists what every Config must say; CheckConfig refuses, in full sentences, what no model can be;
// the ...Of functions below read the optional members, so a Config mentions only the features it has.
//
// Required: kName, kModelDim, kFeedForwardDim, kVocabSize, kHeads, kKVHeads, kHeadDim, kLayers, kRope,
// kNormEpsilon, kActivation, kTiedEmbeddings.
// Optional: kWindow (required by sliding layers), kSlidingRope, kAttentionSoftcap, kFinalSoftcap,
// kQueryPreScale, kQKVBias, kQKNorm, kPostNorms, kUnitOffsetNorms, kScaleEmbeddings; and kModelType, the
// "model_type" of Hugging Face's config.json, by which identify.h recognises checkpoints.
//
// The ...Of and Has... functions take families too, the structs that Configs inherit from and that lack the
// sizes.

#ifndef SKALD_CONFIGS_MODEL_CONFIG_H_
#define SKALD_CONFIGS_MODEL_CONFIG_H_

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>

#include "skald/configs/layer.h"

namespace skald {

template <class C>
concept ModelConfig = requires {
  { C::kName } -> std::convertible_to<std::string_view>;
  { C::kModelDim } -> std::convertible_to<int>;        // width of the residual stream
  { C::kFeedForwardDim } -> std::convertible_to<int>;  // width inside the feed-forward block
  { C::kVocabSize } -> std::convertible_to<int>;       // rows of the embedding
  { C::kHeads } -> std::convertible_to<int>;           // query heads
  { C::kKVHeads } -> std::convertible_to<int>;         // key and value heads, shared by groups of query heads
  { C::kHeadDim } -> std::convertible_to<int>;
  { C::kLayers[0] } -> std::convertible_to<LayerKind>;
  { C::kLayers.size() } -> std::convertible_to<size_t>;  // a std::array, as RepeatLayers returns
  { C::kRope } -> std::convertible_to<RopeSpec>;
  { C::kNormEpsilon } -> std::convertible_to<float>;   // of every RMSNorm
  { C::kActivation } -> std::convertible_to<Activation>;
  { C::kTiedEmbeddings } -> std::convertible_to<bool>;  // output head = embedding matrix
};

// Sliding window in tokens, the position itself included; 0 when the Config has none.
template <class C>
constexpr int WindowOf() {
  if constexpr (requires { C::kWindow; }) return C::kWindow;
  else return 0;
}

// RoPE of a layer of this kind. Models such as Gemma 3 give their sliding layers another base.
template <class C>
constexpr RopeSpec RopeOf(LayerKind kind) {
  if constexpr (requires { C::kSlidingRope; }) {
    if (kind == LayerKind::kSlidingAttention) return C::kSlidingRope;
  }
  return C::kRope;
}

// Attention scores s become cap * tanh(s / cap); 0 when they stay as they are.
template <class C>
constexpr float AttentionSoftcapOf() {
  if constexpr (requires { C::kAttentionSoftcap; }) return C::kAttentionSoftcap;
  else return 0.0f;
}

// The same for the logits.
template <class C>
constexpr float FinalSoftcapOf() {
  if constexpr (requires { C::kFinalSoftcap; }) return C::kFinalSoftcap;
  else return 0.0f;
}

// Scores are q . k / sqrt(this): kQueryPreScale where given ("query_pre_attn_scalar"), else kHeadDim.
template <class C>
constexpr double QueryPreScaleOf() {
  if constexpr (requires { C::kQueryPreScale; }) return C::kQueryPreScale;
  else return C::kHeadDim;
}

// The same as a factor on q . k.
template <class C>
inline float QueryScaleOf() {
  return static_cast<float>(1.0 / std::sqrt(QueryPreScaleOf<C>()));
}

// True when the query, key and value projections add a bias.
template <class C>
constexpr bool HasQKVBias() {
  if constexpr (requires { C::kQKVBias; }) return C::kQKVBias;
  else return false;
}

// True when queries and keys are RMS-normalised per head before RoPE.
template <class C>
constexpr bool HasQKNorm() {
  if constexpr (requires { C::kQKNorm; }) return C::kQKNorm;
  else return false;
}

// True when the outputs of attention and feed-forward are normalised before they join the residual stream.
template <class C>
constexpr bool HasPostNorms() {
  if constexpr (requires { C::kPostNorms; }) return C::kPostNorms;
  else return false;
}

// True when norms multiply by (1 + weight) instead of weight.
template <class C>
constexpr bool HasUnitOffsetNorms() {
  if constexpr (requires { C::kUnitOffsetNorms; }) return C::kUnitOffsetNorms;
  else return false;
}

// True when embeddings are multiplied by sqrt(kModelDim) on the way in (the output head is not).
template <class C>
constexpr bool HasScaledEmbeddings() {
  if constexpr (requires { C::kScaleEmbeddings; }) return C::kScaleEmbeddings;
  else return false;
}

template <ModelConfig C>
constexpr size_t NumLayersOf() {
  return C::kLayers.size();
}

template <ModelConfig C>
constexpr bool HasLayerKind(LayerKind kind) {
  for (const LayerKind layer : C::kLayers) {
    if (layer == kind) return true;
  }
  return false;
}

// True when every RopeSpec of the Config passes `test`.
template <ModelConfig C>
constexpr bool AllRopes(bool (*test)(const RopeSpec&)) {
  return test(RopeOf<C>(LayerKind::kFullAttention)) && test(RopeOf<C>(LayerKind::kSlidingAttention));
}

// Instantiated wherever a Config is used, so that an impossible one stops the build with a sentence.
template <ModelConfig C>
constexpr bool CheckConfig() {
  static_assert(C::kModelDim > 0 && C::kFeedForwardDim > 0 && C::kVocabSize > 0,
                "kModelDim, kFeedForwardDim and kVocabSize must be positive.");
  static_assert(C::kHeads > 0 && C::kKVHeads > 0 && C::kHeadDim > 0,
                "kHeads, kKVHeads and kHeadDim must be positive.");
  static_assert(C::kHeads % C::kKVHeads == 0,
                "kHeads must be a multiple of kKVHeads: each key/value head serves the same number of query "
                "heads.");
  static_assert(C::kHeadDim % 2 == 0, "kHeadDim must be even: RoPE rotates pairs of elements.");
  static_assert(C::kLayers.size() > 0, "kLayers must name at least one layer.");
  static_assert(C::kNormEpsilon > 0.0f,
                "kNormEpsilon must be positive: it keeps a norm from dividing by zero.");
  static_assert(!HasLayerKind<C>(LayerKind::kSlidingAttention) || WindowOf<C>() > 0,
                "A Config with kSlidingAttention layers must give a positive kWindow.");
  static_assert(HasLayerKind<C>(LayerKind::kSlidingAttention) || WindowOf<C>() == 0,
                "kWindow is set, but no layer in kLayers is kSlidingAttention, so it would be ignored.");
  static_assert(AttentionSoftcapOf<C>() >= 0.0f && FinalSoftcapOf<C>() >= 0.0f,
                "Softcaps must not be negative.");
  static_assert(QueryPreScaleOf<C>() > 0.0,
                "kQueryPreScale must be positive: scores are divided by its square root.");
  static_assert(AllRopes<C>([](const RopeSpec& rope) { return rope.base > 1.0; }),
                "The base of kRope and kSlidingRope must be greater than 1.");
  static_assert(AllRopes<C>([](const RopeSpec& rope) {
                  return rope.scaling != RopeScaling::kNone || rope.factor == 1.0;
                }),
                "A RopeSpec gives a factor, but no scaling, so it would be ignored.");
  static_assert(AllRopes<C>([](const RopeSpec& rope) { return rope.factor >= 1.0; }),
                "The factor of a RopeSpec must be at least 1: scaling stretches the context.");
  static_assert(AllRopes<C>([](const RopeSpec& rope) {
                  return rope.scaling != RopeScaling::kLlama3 ||
                         (rope.original_context > 0.0 && rope.low_frequency_factor > 0.0 &&
                          rope.high_frequency_factor > rope.low_frequency_factor);
                }),
                "RopeScaling::kLlama3 needs a positive original_context and 0 < low_frequency_factor < "
                "high_frequency_factor: the ramp lies between them.");
  return true;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_MODEL_CONFIG_H_
