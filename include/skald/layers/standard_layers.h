// SPDX-License-Identifier: Apache-2.0
//
// The types of layers and norms that Skald ships, for programs that run any model of them.

#ifndef SKALD_LAYERS_STANDARD_LAYERS_H_
#define SKALD_LAYERS_STANDARD_LAYERS_H_

#include <vector>

#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/normed_feed_forward.h"
#include "skald/layers/kinds/per_layer_input.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/kinds/recurrent/short_conv.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"

namespace skald {

// A list of types of layers.
template <Layer... L>
struct LayerTypes {
  static std::vector<LayerFunction> Functions() { return {LayerFunctionOf<L>()...}; }
};

using StandardLayers =
    LayerTypes<Attention, FeedForward, GatedFeedForward, MixtureOfExperts, RgLru, Mamba, Mamba2, ShortConv,
               GatedDeltaNet, PerLayerInput, NormedFeedForward, RwkvTimeMix, RwkvChannelMix, LatentAttention>;

// A list of types of norms.
template <Norm... N>
struct NormTypes {};

using StandardNorms = NormTypes<RmsNorm, LayerNorm>;

}  // namespace skald

#endif  // SKALD_LAYERS_STANDARD_LAYERS_H_
