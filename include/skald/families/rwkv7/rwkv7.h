// SPDX-License-Identifier: Apache-2.0
//
// The RWKV-7 family (Peng et al. 2025, arXiv:2503.14456): a delta rule with decays by keys and a channel mix in each
// layer, each of its input and the row before that; LayerNorm, on the embeddings too. The numbers of each size are
// those of the config.json on the page named above it, or follow from the paper: all parameters add up to what its
// table says.

#ifndef SKALD_FAMILIES_RWKV7_RWKV7_H_
#define SKALD_FAMILIES_RWKV7_RWKV7_H_

#include <cstdint>
#include <string_view>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in. `layers` is their number.
struct Rwkv7Sizes {
  int model_dim = 0, vocab_size = 0, layers = 0, feed_forward_dim = 0;
  int head_dim = 64;
  /// As those of RwkvTimeMix.
  int decay_rank = 0, rate_rank = 0, value_rank = 0, gate_rank = 0;
  LayerNorm norm = {};
  float head_norm_epsilon = 64e-5f;  ///< RwkvTimeMix::norm_epsilon
  bool tied_embeddings = false;
};

constexpr ModelSpec Rwkv7Spec(const Rwkv7Sizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm};
  const RwkvChannelMix channel_mix = {.channels = sizes.model_dim, .width = sizes.feed_forward_dim};
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const RwkvTimeMix time_mix = {.heads = sizes.model_dim / sizes.head_dim,
                                  .head_dim = sizes.head_dim,
                                  .decay_rank = sizes.decay_rank,
                                  .rate_rank = sizes.rate_rank,
                                  .gate_rank = sizes.gate_rank,
                                  .value_rank = layer == 0 ? 0 : sizes.value_rank,
                                  .norm_epsilon = sizes.head_norm_epsilon};
    AddUsualLayer(spec, static_cast<uint32_t>(layer), sizes.norm, time_mix, channel_mix);
  }
  return spec;
}

/// The family of RWKV-7.
struct Rwkv7Family {
  static constexpr std::string_view kModelType = "rwkv7";
  using Layers = LayerTypes<RwkvTimeMix, RwkvChannelMix>;
};

/// https://huggingface.co/fla-hub/rwkv7-191M-world
struct Rwkv7_0_1B : Rwkv7Family {
  static constexpr std::string_view kName = "rwkv7-0.1b";
  static constexpr ModelSpec Spec() {
    return Rwkv7Spec({.model_dim = 768,
                      .vocab_size = 65536,
                      .layers = 12,
                      .feed_forward_dim = 3072,
                      .decay_rank = 64,
                      .rate_rank = 64,
                      .value_rank = 32,
                      .gate_rank = 128});
  }
};

/// https://huggingface.co/fla-hub/rwkv7-0.4B-world
struct Rwkv7_0_4B : Rwkv7Family {
  static constexpr std::string_view kName = "rwkv7-0.4b";
  static constexpr ModelSpec Spec() {
    return Rwkv7Spec({.model_dim = 1024,
                      .vocab_size = 65536,
                      .layers = 24,
                      .feed_forward_dim = 4096,
                      .decay_rank = 64,
                      .rate_rank = 64,
                      .value_rank = 32,
                      .gate_rank = 128});
  }
};

/// https://huggingface.co/fla-hub/rwkv7-1.5B-world
struct Rwkv7_1_5B : Rwkv7Family {
  static constexpr std::string_view kName = "rwkv7-1.5b";
  static constexpr ModelSpec Spec() {
    return Rwkv7Spec({.model_dim = 2048,
                      .vocab_size = 65536,
                      .layers = 24,
                      .feed_forward_dim = 8192,
                      .decay_rank = 96,
                      .rate_rank = 96,
                      .value_rank = 64,
                      .gate_rank = 256});
  }
};

/// https://huggingface.co/fla-hub/rwkv7-2.9B-world
struct Rwkv7_2_9B : Rwkv7Family {
  static constexpr std::string_view kName = "rwkv7-2.9b";
  static constexpr ModelSpec Spec() {
    return Rwkv7Spec({.model_dim = 2560,
                      .vocab_size = 65536,
                      .layers = 32,
                      .feed_forward_dim = 10240,
                      .decay_rank = 96,
                      .rate_rank = 96,
                      .value_rank = 64,
                      .gate_rank = 320});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_RWKV7_RWKV7_H_
