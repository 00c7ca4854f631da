// SPDX-License-Identifier: Apache-2.0
//
// ModelFingerprint: one number for everything in a Config that changes a number of the model's. Two Configs have the
// same one just if their Architectures (architecture.h) are equal but for the name: what no layer uses is left out. At
// compile time, where an Architecture, which allocates, cannot be had.

#ifndef SKALD_CONFIGS_MODEL_FINGERPRINT_H_
#define SKALD_CONFIGS_MODEL_FINGERPRINT_H_

#include <cstdint>

#include "skald/base/fingerprint.h"
#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"

namespace skald {

namespace internal {

constexpr void AddRope(const RopeSpec& rope, Fingerprint64& print) {
  print.Add(rope.base).Add(rope.scaling);
  if (rope.scaling != RopeScaling::kNone) print.Add(rope.factor);
  if (rope.scaling != RopeScaling::kLlama3) return;
  print.Add(rope.low_frequency_factor).Add(rope.high_frequency_factor).Add(rope.original_context);
}

template <ModelConfig C>
constexpr void AddAttention(Fingerprint64& print) {
  print.Add(HeadsOf<C>()).Add(KVHeadsOf<C>()).Add(HeadDimOf<C>()).Add(RotaryDimOf<C>()).Add(WindowOf<C>());
  print.Add(QueryPreScaleOf<C>()).Add(AttentionSoftcapOf<C>());
  print.Add(HasQKVBias<C>()).Add(HasAttentionOutputBias<C>()).Add(HasQKNorm<C>());
  for (const LayerKind kind : {LayerKind::kFullAttention, LayerKind::kSlidingAttention}) {
    if (HasLayerKind<C>(kind)) AddRope(RopeOf<C>(kind), print);
  }
}

constexpr void AddRecurrence(const RecurrenceSpec& spec, Fingerprint64& print) {
  print.Add(spec.width).Add(spec.conv_width).Add(spec.heads).Add(spec.state_dim).Add(spec.groups);
  print.Add(spec.time_step_rank).Add(spec.time_step_min).Add(spec.time_step_max);
}

}  // namespace internal

template <ModelConfig C>
constexpr uint64_t ModelFingerprint() {
  Fingerprint64 print;
  print.Add(C::kModelDim).Add(C::kVocabSize).Add(NumLayersOf<C>());
  for (const LayerKind kind : C::kLayers) print.Add(kind);
  if constexpr (HasAttention<C>()) internal::AddAttention<C>(print);
  for (const LayerKind kind : {LayerKind::kRgLru, LayerKind::kMamba, LayerKind::kMamba2}) {
    if (HasLayerKind<C>(kind)) internal::AddRecurrence(RecurrencesOf<C>().Of(kind), print);
  }
  print.Add(FeedForwardDimOf<C>());
  if constexpr (FeedForwardDimOf<C>() > 0) print.Add(C::kActivation).Add(HasFeedForwardBias<C>());
  print.Add(float{C::kNormEpsilon}).Add(FinalSoftcapOf<C>()).Add(bool{C::kTiedEmbeddings});
  print.Add(HasPostNorms<C>()).Add(HasUnitOffsetNorms<C>());
  print.Add(HasScaledEmbeddings<C>()).Add(HasRoundedEmbeddingScale<C>());
  return print.value();
}

}  // namespace skald

#endif  // SKALD_CONFIGS_MODEL_FINGERPRINT_H_
