// SPDX-License-Identifier: Apache-2.0
//
// The Nemotron-H family (NVIDIA 2025, arXiv:2504.03624): layers of one block each, Mamba-2, attention without
// positions, feed-forward layers without a gate, or experts. The numbers of each size are those of the config.json on
// the page named above it.

#ifndef SKALD_FAMILIES_NEMOTRON_H_NEMOTRON_H_H_
#define SKALD_FAMILIES_NEMOTRON_H_NEMOTRON_H_H_

#include <cstdint>
#include <string_view>

#include "skald/base/numbers/activation.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in.
struct NemotronHSizes {
  int model_dim = 0, vocab_size = 0;
  std::string_view pattern = {};  ///< for each layer M: Mamba-2, *: attention, -: feed-forward, E: experts
  int heads = 0, kv_heads = 0, head_dim = 128;
  int feed_forward_dim = 0;
  Mamba2 mamba = {};              ///< all but its norm, which is that of the model
  MixtureOfExperts experts = {};  ///< of the layers E
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;
};

/// Common to the experts of all sizes.
constexpr MixtureOfExperts NemotronHExperts() {
  return {.activation = Activation::kReluSquared,
          .sigmoid = true,
          .selection_bias = true,
          .sum_epsilon = 1e-20f,
          .gated = false};
}

constexpr ModelSpec NemotronHSpec(const NemotronHSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  Mamba2 mamba = sizes.mamba;
  mamba.norm = norm;
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (const char kind : sizes.pattern) {
    Block block = {.number = static_cast<uint32_t>(spec.blocks.size()), .norm = norm};
    if (kind == 'M')
      block.layers.push_back(mamba);
    else if (kind == '*')
      block.layers.push_back(Attention{.heads = sizes.heads,
                                       .kv_heads = sizes.kv_heads,
                                       .head_dim = sizes.head_dim,
                                       .query_pre_scale = static_cast<double>(sizes.head_dim)});
    else if (kind == 'E')
      block.layers.push_back(sizes.experts);
    else
      block.layers.push_back(FeedForward{.width = sizes.feed_forward_dim, .activation = Activation::kReluSquared});
    spec.blocks.push_back(block);
  }
  return spec;
}

/// The family of Nemotron-H.
struct NemotronHFamily {
  static constexpr std::string_view kModelType = "nemotron_h";
  using Layers = LayerTypes<Attention, FeedForward, Mamba2, MixtureOfExperts>;
};

/// https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2
struct NemotronNano_9B_V2 : NemotronHFamily {
  static constexpr std::string_view kName = "nemotron-nano-9b-v2";
  static constexpr ModelSpec Spec() {
    return NemotronHSpec({.model_dim = 4480,
                          .vocab_size = 131072,
                          .pattern = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
                          .heads = 40,
                          .kv_heads = 8,
                          .feed_forward_dim = 15680,
                          .mamba = {.heads = 128, .head_dim = 80, .state_dim = 128, .groups = 8, .conv_width = 4}});
  }
};

/// https://huggingface.co/nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
struct Nemotron3Nano_30B_A3B : NemotronHFamily {
  static constexpr std::string_view kName = "nemotron-3-nano-30b-a3b";
  static constexpr ModelSpec Spec() {
    MixtureOfExperts experts = NemotronHExperts();
    experts.experts = 128, experts.chosen = 6, experts.width = 1856, experts.shared_width = 3712;
    experts.weight_scale = 2.5f;
    return NemotronHSpec({.model_dim = 2688,
                          .vocab_size = 131072,
                          .pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                          .heads = 32,
                          .kv_heads = 2,
                          .mamba = {.heads = 64, .head_dim = 64, .state_dim = 128, .groups = 8, .conv_width = 4},
                          .experts = experts});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_NEMOTRON_H_NEMOTRON_H_H_
