// SPDX-License-Identifier: Apache-2.0
//
// The Falcon-H1 family (TII 2025, arXiv:2507.22448): attention and Mamba-2 side by side in each layer, and multipliers
// everywhere. The numbers of each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_FALCON_H1_FALCON_H1_H_
#define SKALD_FAMILIES_FALCON_H1_FALCON_H1_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The multipliers as config.json has them.
struct FalconH1Multipliers {
  /// Of embeddings; of logits.
  double embedding = 1.0, head = 1.0;
  /// Of attention's input and output; of its keys.
  double attention_in = 1.0, attention_out = 1.0, key = 1.0;
  /// Of the input and output of Mamba-2.
  double ssm_in = 1.0, ssm_out = 1.0;
  std::vector<double> ssm = {};  ///< of the gate, x, B, C and time steps, as floats; or empty
  /// Of the feed-forward layer's gate, before the activation, and of its output.
  double gate = 1.0, down = 1.0;
};

/// The sizes that models of the family differ in. `layers` is their number.
struct FalconH1Sizes {
  int model_dim = 0, vocab_size = 0, layers = 0, feed_forward_dim = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  Mamba2 mamba = {};                     ///< all but its norm's epsilon and its multipliers
  FalconH1Multipliers multipliers = {};  ///< of every part
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;
  RopeSpec rope = {.base = 1e11};
};

/// Attention is linear in what multiplies its values; scores are in what multiplies queries and keys.
constexpr Attention FalconH1Attention(const FalconH1Sizes& sizes) {
  const FalconH1Multipliers& by = sizes.multipliers;
  const double of_scores = by.attention_in * by.attention_in * by.key;
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.head_dim,
                         .query_pre_scale = sizes.head_dim / (of_scores * of_scores),
                         .output_multiplier = static_cast<float>(by.attention_in * by.attention_out)};
  attention.rope = sizes.rope;
  return attention;
}

constexpr Mamba2 FalconH1Mamba(const FalconH1Sizes& sizes) {
  const FalconH1Multipliers& by = sizes.multipliers;
  Mamba2 mamba = sizes.mamba;
  mamba.norm.epsilon = sizes.norm_epsilon;
  mamba.output_multiplier = static_cast<float>(by.ssm_out);
  for (const double one : by.ssm) mamba.input_multipliers.push_back(static_cast<float>(by.ssm_in * one));
  return mamba;
}

constexpr ModelSpec FalconH1Spec(const FalconH1Sizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  const FalconH1Multipliers& by = sizes.multipliers;
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm,
                    .embedding_multiplier = static_cast<float>(by.embedding),
                    .logits_scaling = static_cast<float>(1.0 / by.head)};
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const auto number = static_cast<uint32_t>(layer);
    Block mixer = {.number = number, .norm = norm};
    mixer.layers.push_back(FalconH1Mamba(sizes));
    mixer.layers.push_back(FalconH1Attention(sizes));
    Block feed_forward = {.number = number,
                          .norm = norm,
                          .norm_name = "feed_forward_norm",
                          .residual_multiplier = static_cast<float>(by.down)};
    feed_forward.layers.push_back(
        GatedFeedForward{.width = sizes.feed_forward_dim, .gate_multiplier = static_cast<float>(by.gate)});
    spec.blocks.push_back(mixer);
    spec.blocks.push_back(feed_forward);
  }
  return spec;
}

/// The family of Falcon-H1.
struct FalconH1Family {
  static constexpr std::string_view kModelType = "falcon_h1";
  using Layers = LayerTypes<Attention, GatedFeedForward, Mamba2>;
};

/// https://huggingface.co/tiiuae/Falcon-H1-0.5B-Instruct; GGUF files, whose weights have the multipliers in them, are
/// of another Config.
struct FalconH1_0_5B : FalconH1Family {
  static constexpr std::string_view kName = "falcon-h1-0.5b";
  static constexpr ModelSpec Spec() {
    FalconH1Sizes sizes = {.model_dim = 1024,
                           .vocab_size = 32784,
                           .layers = 36,
                           .feed_forward_dim = 2048,
                           .heads = 8,
                           .kv_heads = 2,
                           .head_dim = 64};
    sizes.mamba.heads = 24, sizes.mamba.head_dim = 64, sizes.mamba.state_dim = 128, sizes.mamba.groups = 1;
    sizes.mamba.conv_width = 4, sizes.mamba.has_norm = false;
    sizes.multipliers.embedding = 5.656854249492381, sizes.multipliers.head = 0.0390625;
    sizes.multipliers.attention_out = 0.9375, sizes.multipliers.key = 0.39062499999999994;
    sizes.multipliers.ssm_in = 1.25, sizes.multipliers.ssm_out = 0.23570226039551587;
    sizes.multipliers.ssm = {0.3535533905932738f, 0.25, 0.3535533905932738f, 0.5, 0.3535533905932738f};
    sizes.multipliers.gate = 0.8838834764831844f, sizes.multipliers.down = 0.5859375;
    return FalconH1Spec(sizes);
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_FALCON_H1_FALCON_H1_H_
