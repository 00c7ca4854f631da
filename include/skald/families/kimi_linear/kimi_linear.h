// SPDX-License-Identifier: Apache-2.0
//
// The Kimi Linear family (Kimi Team 2025, arXiv:2510.26692): Kimi delta attention, latent attention without positions
// in each fourth layer, and the experts of DeepSeek-V3. The numbers of the size are those of the config.json on the
// page named above it.

#ifndef SKALD_FAMILIES_KIMI_LINEAR_KIMI_LINEAR_H_
#define SKALD_FAMILIES_KIMI_LINEAR_KIMI_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "skald/families/config/usual_layer.h"
#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/kimi_delta.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in.
struct KimiLinearSizes {
  int model_dim = 0, vocab_size = 0, feed_forward_dim = 0;
  LayerFlags attends = {};  ///< of each layer, whether it is latent attention
  LayerFlags dense = {};    ///< of each layer, whether it has no experts
  KimiDelta delta = {};     ///< all but its norm, which is that of the model
  LatentAttention attention = {.norm = {.epsilon = 1e-6f}, .rotates = false};
  MixtureOfExperts experts = DeepSeekV3Experts();  ///< of the layers that are not dense
  float norm_epsilon = 1e-5f;                      ///< of all norms but those within latent attention
  bool tied_embeddings = false;
};

constexpr ModelSpec KimiLinearSpec(const KimiLinearSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  KimiDelta delta = sizes.delta;
  delta.norm = norm;
  const GatedFeedForward dense = {.width = sizes.feed_forward_dim};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (uint32_t layer = 0; layer < sizes.attends.size(); ++layer) {
    LayerSpec mixer = delta, feed_forward = dense;
    if (sizes.attends[layer]) mixer = sizes.attention;
    if (!sizes.dense[layer]) feed_forward = sizes.experts;
    AddUsualLayer(spec, layer, norm, std::move(mixer), std::move(feed_forward));
  }
  return spec;
}

/// The family of Kimi Linear.
struct KimiLinearFamily {
  static constexpr std::string_view kModelType = "kimi_linear";
  using Layers = LayerTypes<KimiDelta, LatentAttention, GatedFeedForward, MixtureOfExperts>;
};

/// https://huggingface.co/moonshotai/Kimi-Linear-48B-A3B-Instruct
struct KimiLinear_48B_A3B : KimiLinearFamily {
  static constexpr std::string_view kName = "kimi-linear-48b-a3b";
  static constexpr ModelSpec Spec() {
    constexpr int kLayers = 27;
    KimiLinearSizes sizes = {.model_dim = 2304, .vocab_size = 163840, .feed_forward_dim = 9216};
    sizes.dense = FirstLayersDense(kLayers, 1);
    for (int layer = 1; layer <= kLayers; ++layer) sizes.attends.push_back(layer % 4 == 0 || layer == kLayers);
    sizes.delta.heads = 32, sizes.delta.head_dim = 128, sizes.delta.conv_width = 4;
    LatentAttention& attention = sizes.attention;
    attention.heads = 32, attention.latent_dim = 512;
    attention.rope_dim = 64, attention.nope_dim = 128, attention.value_dim = 128;
    sizes.experts.experts = 256, sizes.experts.chosen = 8, sizes.experts.width = 1024;
    sizes.experts.weight_scale = 2.446f, sizes.experts.shared_width = 1024;
    return KimiLinearSpec(sizes);
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_KIMI_LINEAR_KIMI_LINEAR_H_
