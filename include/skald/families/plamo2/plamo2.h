// SPDX-License-Identifier: Apache-2.0
//
// The family of PLaMo 2 (Preferred Networks 2025, arXiv:2509.04897): Mamba-2 with the projections of Mamba, in other
// layers attention within a window, and norms before and after all of them. The numbers of the size are those of the
// config.json on the page named above it.

#ifndef SKALD_FAMILIES_PLAMO2_PLAMO2_H_
#define SKALD_FAMILIES_PLAMO2_PLAMO2_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/recurrent/selective_mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in.
struct Plamo2Sizes {
  int model_dim = 0, vocab_size = 0, feed_forward_dim = 0;
  LayerFlags attends = {};  ///< of each layer, whether it is attention
  LayerFlags is_full = {};  ///< of each layer, whether its attention has no window; none at all: all have one
  int heads = 0, kv_heads = 0;
  int head_dim = 0;            ///< of attention and of Mamba
  int window = 2049;           ///< a token's own and those before it that attention sees
  int mamba_heads = 0;         ///< of Mamba
  int state_dim = 0;           ///< of Mamba, per channel
  int conv_width = 4;          ///< taps
  float norm_epsilon = 1e-6f;  ///< of all norms but those of queries and keys
  bool tied_embeddings = true;
};

/// Which of `layers` layers attend if one of `step` does.
constexpr LayerFlags Plamo2Attends(size_t layers, size_t step) {
  LayerFlags attends;
  for (size_t i = 0; i < layers; ++i) attends.push_back(layers <= step / 2 ? i + 1 == layers : i % step == step / 2);
  return attends;
}

constexpr ModelSpec Plamo2Spec(const Plamo2Sizes& sizes) {
  // Post norms begin with these (the second is 5^-1.5): the model adds little at first.
  constexpr float kAfterMixer = 0.2f, kAfterFeedForward = 0.0894427191f;
  const auto norm = [&](float offset) {
    return RmsNorm{.epsilon = sizes.norm_epsilon, .unit_offset = true, .offset = offset};
  };
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.head_dim,
                         .window = sizes.window,
                         .rope = {.base = 10000.0},
                         .query_pre_scale = static_cast<double>(sizes.head_dim),
                         .head_norm = RmsNorm{.epsilon = 1e-6f, .weight = false},
                         .head_factors = true};
  Attention full = attention;
  full.window = 0;
  const SelectiveMamba2 mamba = {.heads = sizes.mamba_heads,
                                 .head_dim = sizes.head_dim,
                                 .state_dim = sizes.state_dim,
                                 .time_step_rank = std::max(64, sizes.model_dim / 16),
                                 .conv_width = sizes.conv_width,
                                 .norm = {.epsilon = sizes.norm_epsilon}};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm(1.0f)};
  for (uint32_t layer = 0; layer < sizes.attends.size(); ++layer) {
    LayerSpec mixer = mamba;
    if (sizes.attends[layer]) mixer = layer < sizes.is_full.size() && sizes.is_full[layer] ? full : attention;
    Block first = {.number = layer, .norm = norm(1.0f), .post_norm = norm(kAfterMixer)};
    Block second = {.number = layer,
                    .norm = norm(1.0f),
                    .norm_name = "pre_feedforward_layernorm",
                    .post_norm = norm(kAfterFeedForward),
                    .post_norm_name = "post_feedforward_layernorm"};
    first.layers.push_back(std::move(mixer));
    second.layers.push_back(GatedFeedForward{.width = sizes.feed_forward_dim});
    spec.blocks.push_back(std::move(first));
    spec.blocks.push_back(std::move(second));
  }
  return spec;
}

/// The family of PLaMo 2.
struct Plamo2Family {
  static constexpr std::string_view kModelType = "plamo2";
  using Layers = LayerTypes<Attention, SelectiveMamba2, GatedFeedForward>;
};

/// https://huggingface.co/pfnet/plamo-2-1b
struct Plamo2_1B : Plamo2Family {
  static constexpr std::string_view kName = "plamo2-1b";
  static constexpr ModelSpec Spec() {
    return Plamo2Spec({.model_dim = 2048,
                       .vocab_size = 100000,
                       .feed_forward_dim = 8192,
                       .attends = Plamo2Attends(16, 2),
                       .heads = 16,
                       .kv_heads = 1,
                       .head_dim = 128,
                       .mamba_heads = 32,
                       .state_dim = 64});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_PLAMO2_PLAMO2_H_
