// SPDX-License-Identifier: Apache-2.0
//
// What a Config is: a struct of `static constexpr` facts about one model's architecture. The concept
// ModelConfig lists what every Config must say; CheckConfig refuses, in full sentences, what no model can be;
// the ...Of functions below read the optional members, so a Config mentions only the features it has.
//
// Every Config: kName, kModelDim, kVocabSize, kLayers, kNormEpsilon, kTiedEmbeddings.
//   Optional: kFinalSoftcap, kPostNorms, kUnitOffsetNorms, kScaleEmbeddings, kRoundEmbeddingScale; and kModelType,
//   the "model_type" of Hugging Face's config.json, by which identify.h recognises checkpoints.
// With feed-forward blocks: kFeedForwardDim, kActivation. Optional: kFeedForwardBias.
// With attention layers: kHeads, kKVHeads, kHeadDim, kRope; with sliding ones kWindow. Optional: kSlidingRope,
//   kRotaryDim, kAttentionSoftcap, kQueryPreScale, kQKVBias, kAttentionOutputBias, kQKNorm.
// With recurrent layers: kConvWidth; kRgLru needs kLruWidth and kLruBlocks, kMamba needs kInnerDim, kStateDim and
//   kTimeStepRank, kMamba2 needs kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups. A Config has one of kMamba and
//   kMamba2 at most: they share kStateDim. Optional for kMamba2: kTimeStepLimit, a std::array of the two bounds that
//   time steps are clamped to.
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
  { C::kModelDim } -> std::convertible_to<int>;   // width of the residual stream
  { C::kVocabSize } -> std::convertible_to<int>;  // rows of the embedding
  { C::kLayers[0] } -> std::convertible_to<LayerKind>;
  { C::kLayers.size() } -> std::convertible_to<size_t>;  // a std::array, as RepeatLayers returns
  { C::kNormEpsilon } -> std::convertible_to<float>;     // of every RMSNorm
  { C::kTiedEmbeddings } -> std::convertible_to<bool>;   // output head = embedding matrix
};

template <class C>
constexpr size_t NumLayersOf() {
  return C::kLayers.size();
}

template <class C>
constexpr bool HasLayerKind(LayerKind kind) {
  for (const LayerKind layer : C::kLayers) {
    if (layer == kind) return true;
  }
  return false;
}

template <class C>
constexpr bool HasAttention() {
  return HasLayerKind<C>(LayerKind::kFullAttention) || HasLayerKind<C>(LayerKind::kSlidingAttention);
}

template <class C>
constexpr bool HasRecurrence() {
  for (const LayerKind layer : C::kLayers) {
    if (IsRecurrent(layer)) return true;
  }
  return false;
}

// Width inside the gated feed-forward block that follows each mixer; 0 when layers are mixers alone, as in Mamba.
template <class C>
constexpr int FeedForwardDimOf() {
  if constexpr (requires { C::kFeedForwardDim; }) return C::kFeedForwardDim;
  else return 0;
}

// The sizes of attention: query heads, key and value heads (each shared by a group of query heads), and their
// width. 0 without attention layers.
template <class C>
constexpr int HeadsOf() {
  if constexpr (requires { C::kHeads; }) return C::kHeads;
  else return 0;
}
template <class C>
constexpr int KVHeadsOf() {
  if constexpr (requires { C::kKVHeads; }) return C::kKVHeads;
  else return 0;
}
template <class C>
constexpr int HeadDimOf() {
  if constexpr (requires { C::kHeadDim; }) return C::kHeadDim;
  else return 0;
}

// Elements of each head that RoPE rotates, the first ones; the others carry no position.
template <class C>
constexpr int RotaryDimOf() {
  if constexpr (requires { C::kRotaryDim; }) return C::kRotaryDim;
  else return HeadDimOf<C>();
}

// Taps of the causal depthwise convolution in front of a recurrence; the last tap is the token itself.
template <class C>
constexpr int ConvWidthOf() {
  if constexpr (requires { C::kConvWidth; }) return C::kConvWidth;
  else return 0;
}

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
  if constexpr (requires { C::kRope; }) return C::kRope;
  else return {};
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
  else return HeadDimOf<C>();
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

// True when the output projection of attention adds a bias.
template <class C>
constexpr bool HasAttentionOutputBias() {
  if constexpr (requires { C::kAttentionOutputBias; }) return C::kAttentionOutputBias;
  else return false;
}

// True when the three projections of the feed-forward block add a bias.
template <class C>
constexpr bool HasFeedForwardBias() {
  if constexpr (requires { C::kFeedForwardBias; }) return C::kFeedForwardBias;
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

// True when that factor is rounded to bfloat16 first (RecurrentGemma).
template <class C>
constexpr bool HasRoundedEmbeddingScale() {
  if constexpr (requires { C::kRoundEmbeddingScale; }) return C::kRoundEmbeddingScale;
  else return false;
}

// True when every RopeSpec of the Config passes `test`.
template <ModelConfig C>
constexpr bool AllRopes(bool (*test)(const RopeSpec&)) {
  return test(RopeOf<C>(LayerKind::kFullAttention)) && test(RopeOf<C>(LayerKind::kSlidingAttention));
}

// Each part of CheckConfig stops the build with a sentence.

template <ModelConfig C>
constexpr bool CheckSizes() {
  static_assert(C::kModelDim > 0 && C::kVocabSize > 0, "kModelDim and kVocabSize must be positive.");
  static_assert(FeedForwardDimOf<C>() >= 0,
                "kFeedForwardDim must be positive, or absent where layers have no feed-forward block.");
  static_assert(FeedForwardDimOf<C>() == 0 || requires { C::kActivation; },
                "A Config with kFeedForwardDim must give kActivation.");
  static_assert(C::kLayers.size() > 0, "kLayers must name at least one layer.");
  static_assert(C::kNormEpsilon > 0.0f,
                "kNormEpsilon must be positive: it keeps a norm from dividing by zero.");
  static_assert(FinalSoftcapOf<C>() >= 0.0f, "Softcaps must not be negative.");
  return true;
}

template <ModelConfig C>
constexpr bool CheckAttention() {
  static_assert(requires { C::kHeads; C::kKVHeads; C::kHeadDim; C::kRope; },
                "A Config with attention layers must give kHeads, kKVHeads, kHeadDim and kRope.");
  static_assert(HeadsOf<C>() > 0 && KVHeadsOf<C>() > 0 && HeadDimOf<C>() > 0,
                "kHeads, kKVHeads and kHeadDim must be positive.");
  static_assert(HeadsOf<C>() % KVHeadsOf<C>() == 0,
                "kHeads must be a multiple of kKVHeads: each key/value head serves the same number of query "
                "heads.");
  static_assert(HeadDimOf<C>() % 2 == 0, "kHeadDim must be even: RoPE rotates pairs of elements.");
  static_assert(RotaryDimOf<C>() % 2 == 0 && RotaryDimOf<C>() > 0 && RotaryDimOf<C>() <= HeadDimOf<C>(),
                "kRotaryDim must be even, positive and at most kHeadDim: RoPE rotates pairs of a head's elements.");
  static_assert(!HasLayerKind<C>(LayerKind::kSlidingAttention) || WindowOf<C>() > 0,
                "A Config with kSlidingAttention layers must give a positive kWindow.");
  static_assert(HasLayerKind<C>(LayerKind::kSlidingAttention) || WindowOf<C>() == 0,
                "kWindow is set, but no layer in kLayers is kSlidingAttention, so it would be ignored.");
  static_assert(AttentionSoftcapOf<C>() >= 0.0f, "Softcaps must not be negative.");
  static_assert(QueryPreScaleOf<C>() > 0.0,
                "kQueryPreScale must be positive: scores are divided by its square root.");
  return true;
}

template <ModelConfig C>
constexpr bool CheckRope() {
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

template <ModelConfig C>
constexpr bool CheckRecurrence() {
  static_assert(ConvWidthOf<C>() >= 2, "A Config with recurrent layers must give kConvWidth, at least 2 taps.");
  static_assert(!(HasLayerKind<C>(LayerKind::kMamba) && HasLayerKind<C>(LayerKind::kMamba2)),
                "kLayers has both kMamba and kMamba2, which would share kStateDim: use one of them.");
  if constexpr (HasLayerKind<C>(LayerKind::kRgLru)) {
    static_assert(requires { C::kLruWidth; C::kLruBlocks; },
                  "A Config with kRgLru layers must give kLruWidth and kLruBlocks.");
    static_assert(C::kLruWidth > 0 && C::kLruBlocks > 0 && C::kLruWidth % C::kLruBlocks == 0,
                  "kLruWidth must be a positive multiple of kLruBlocks: the gates' matrices are block-diagonal.");
  }
  if constexpr (HasLayerKind<C>(LayerKind::kMamba)) {
    static_assert(requires { C::kInnerDim; C::kStateDim; C::kTimeStepRank; },
                  "A Config with kMamba layers must give kInnerDim, kStateDim and kTimeStepRank.");
    static_assert(C::kInnerDim > 0 && C::kStateDim > 0 && C::kTimeStepRank > 0,
                  "kInnerDim, kStateDim and kTimeStepRank must be positive.");
  }
  if constexpr (HasLayerKind<C>(LayerKind::kMamba2)) {
    static_assert(requires { C::kSsmHeads; C::kSsmHeadDim; C::kStateDim; C::kSsmGroups; },
                  "A Config with kMamba2 layers must give kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups.");
    static_assert(C::kSsmHeads > 0 && C::kSsmHeadDim > 0 && C::kStateDim > 0 && C::kSsmGroups > 0,
                  "kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups must be positive.");
    static_assert(C::kSsmHeads % C::kSsmGroups == 0,
                  "kSsmHeads must be a multiple of kSsmGroups: a group of heads shares B and C.");
    if constexpr (requires { C::kTimeStepLimit; }) {
      static_assert(C::kTimeStepLimit[0] >= 0.0f && C::kTimeStepLimit[0] <= C::kTimeStepLimit[1],
                    "kTimeStepLimit must be two bounds in rising order, not negative.");
    }
  }
  return true;
}

// Instantiated wherever a Config is used, so that an impossible one stops the build.
template <ModelConfig C>
constexpr bool CheckConfig() {
  bool valid = CheckSizes<C>();
  if constexpr (HasAttention<C>()) valid = valid && CheckAttention<C>() && CheckRope<C>();
  if constexpr (HasRecurrence<C>()) valid = valid && CheckRecurrence<C>();
  return valid;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_MODEL_CONFIG_H_
