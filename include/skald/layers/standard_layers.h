// SPDX-License-Identifier: Apache-2.0
//
// The types of layers and norms that Skald ships, for programs that run any model of them.

#ifndef SKALD_LAYERS_STANDARD_LAYERS_H_
#define SKALD_LAYERS_STANDARD_LAYERS_H_

#include <vector>

#include "skald/layers/kinds/altup/streams.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/normed_feed_forward.h"
#include "skald/layers/kinds/per_layer_input.h"
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
#include "skald/layers/kinds/recurrent/short_conv.h"
#include "skald/layers/kinds/wide_attention.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"

namespace skald {

/// A list of types of layers.
template <Layer... L>
struct LayerTypes {
  /// How the layers of the list are computed, one for each type.
  static std::vector<LayerFunction> Functions() { return {LayerFunctionOf<L>()...}; }
};

// clang-format off
#define SKALD_FOR_STANDARD_LAYERS(X)                                                                           \
  X(Attention) X(FeedForward) X(GatedFeedForward) X(MixtureOfExperts) X(RgLru) X(Mamba) X(Mamba2) X(ShortConv)  \
  X(GatedDeltaNet) X(PerLayerInput) X(NormedFeedForward) X(RwkvTimeMix) X(RwkvChannelMix) X(LatentAttention)    \
  X(KimiDelta) X(RwkvDecayedTimeMix) X(CarriedInput) X(AltUpEntry) X(AltUpPrediction) X(LaurelResidual)         \
  X(AltUpCorrection) X(AltUpExit) X(LightningAttention) X(SelectiveMamba2)
// clang-format on
#define SKALD_FOR_STANDARD_NORMS(X) X(RmsNorm) X(LayerNorm)

// A list of types of norms.
template <Norm... N>
struct NormTypes {};

namespace internal {

template <class, Layer... L>
using LayersAfter = LayerTypes<L...>;
template <class, Norm... N>
using NormsAfter = NormTypes<N...>;

}  // namespace internal

#define SKALD_AND(T) , T
using StandardLayers = internal::LayersAfter<void SKALD_FOR_STANDARD_LAYERS(SKALD_AND)>;
using StandardNorms = internal::NormsAfter<void SKALD_FOR_STANDARD_NORMS(SKALD_AND)>;
#undef SKALD_AND

// Values that hold them are compiled once.
#ifdef SKALD_COMPILED
namespace internal {

#define SKALD_DECLARE_HELD(L)                              \
  extern template struct WeightsOf<L>;                     \
  extern template struct HeldComponent<L, LayerInterface>; \
  extern template struct HeldLayer<L>;
SKALD_FOR_STANDARD_LAYERS(SKALD_DECLARE_HELD)
#undef SKALD_DECLARE_HELD
#define SKALD_DECLARE_HELD(N)                             \
  extern template struct WeightsOf<N>;                    \
  extern template struct HeldComponent<N, NormInterface>; \
  extern template struct HeldNorm<N>;
SKALD_FOR_STANDARD_NORMS(SKALD_DECLARE_HELD)
#undef SKALD_DECLARE_HELD

}  // namespace internal
#endif

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/detail/standard_layers.h"
#endif

#endif  // SKALD_LAYERS_STANDARD_LAYERS_H_
