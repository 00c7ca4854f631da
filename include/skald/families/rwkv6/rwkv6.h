// SPDX-License-Identifier: Apache-2.0
//
// The RWKV-6 family (Finch; Peng et al. 2024, arXiv:2404.05892): sums that decay by keys and a channel mix in each
// layer, each of its input and the row before that; LayerNorm, on the embeddings too. The numbers of each size are
// those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_RWKV6_RWKV6_H_
#define SKALD_FAMILIES_RWKV6_RWKV6_H_

#include <cstdint>
#include <string_view>

#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/decayed_time_mix.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in. `layers` is their number.
struct Rwkv6Sizes {
  int model_dim = 0, vocab_size = 0, layers = 0, feed_forward_dim = 0;
  int head_dim = 64;
  int mix_rank = 32, decay_rank = 64;  ///< as those of RwkvDecayedTimeMix
  LayerNorm norm = {};
  float head_norm_epsilon = 64e-5f;  ///< RwkvDecayedTimeMix::norm_epsilon
  bool tied_embeddings = false;
  /// Layers whose outputs files in GGUF have halved once more than those of as many layers in front of them, so that
  /// float16 suffices: they are doubled as often. 0: none is.
  int rescale_every = 0;
};

constexpr ModelSpec Rwkv6Spec(const Rwkv6Sizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm};
  const RwkvDecayedTimeMix time_mix = {.heads = sizes.model_dim / sizes.head_dim,
                                       .head_dim = sizes.head_dim,
                                       .mix_rank = sizes.mix_rank,
                                       .decay_rank = sizes.decay_rank,
                                       .norm_epsilon = sizes.head_norm_epsilon};
  const RwkvChannelMix channel_mix = {
      .channels = sizes.model_dim, .width = sizes.feed_forward_dim, .has_receptance = true};
  float multiplier = 1.0f;
  for (int layer = 0; layer < sizes.layers; ++layer) {
    if (sizes.rescale_every > 0 && layer > 0 && layer % sizes.rescale_every == 0) multiplier *= 2.0f;
    Block first = {.number = static_cast<uint32_t>(layer), .norm = sizes.norm, .residual_multiplier = multiplier};
    Block second = first;
    second.norm_name = "feed_forward_norm";
    first.layers.push_back(time_mix);
    second.layers.push_back(channel_mix);
    spec.blocks.push_back(first);
    spec.blocks.push_back(second);
  }
  return spec;
}

/// The family of RWKV-6.
struct Rwkv6Family {
  static constexpr std::string_view kModelType = "rwkv6";
  using Layers = LayerTypes<RwkvDecayedTimeMix, RwkvChannelMix>;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_RWKV6_RWKV6_H_
