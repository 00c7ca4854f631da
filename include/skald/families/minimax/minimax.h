// SPDX-License-Identifier: Apache-2.0
//
// The family of MiniMax-01 and MiniMax-M1 (arXiv:2501.08313): lightning attention in seven of eight layers and
// attention in the others, experts, and a residual stream that continues with the normalised rows. The numbers of each
// size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_MINIMAX_MINIMAX_H_
#define SKALD_FAMILIES_MINIMAX_MINIMAX_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "skald/families/config/layer.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/lightning_attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The factors of a layer's normalised rows (alpha) and of its outputs (beta), whose sum is its result.
struct MiniMaxResidual {
  float alpha = 1.0f, beta = 1.0f;  ///< of the rows, of the outputs
};

/// The sizes that models of the family differ in.
struct MiniMaxSizes {
  int model_dim = 0, vocab_size = 0;
  LayerFlags attends = {};  ///< of each layer, whether it is attention, not lightning attention
  int heads = 0;            ///< of both kinds of layers
  int kv_heads = 0;         ///< of attention
  int head_dim = 0;
  int rotary_dim = 0;  ///< elements of attention's heads that RoPE turns
  RopeSpec rope = {.base = 1000000.0};
  MixtureOfExperts experts = {};  ///< of each layer
  float norm_epsilon = 1e-5f;     ///< of all norms but those within lightning attention
  MiniMaxResidual of_attention = {}, of_lightning = {}, of_experts = {};  ///< by the type of layer
  bool tied_embeddings = false;
};

/// The factor of the slopes of layer `layer` of so many.
constexpr float LightningSlopeFactor(size_t layer, size_t layers) {
  if (layers < 2) return 1.0f + 1e-5f;
  return static_cast<float>(1.0 - static_cast<double>(layer) / static_cast<double>(layers - 1) + 1e-5);
}

constexpr ModelSpec MiniMaxSpec(const MiniMaxSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.rotary_dim,
                         .rope = sizes.rope,
                         .query_pre_scale = static_cast<double>(sizes.head_dim)};
  LightningAttention lightning = {.heads = sizes.heads, .head_dim = sizes.head_dim};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  const auto set_residual = [](const MiniMaxResidual& residual, Block& block) {
    block.normed_multiplier = residual.alpha;
    block.residual_multiplier = residual.beta;
  };
  for (uint32_t layer = 0; layer < sizes.attends.size(); ++layer) {
    lightning.slope_factor = LightningSlopeFactor(layer, sizes.attends.size());
    LayerSpec mixer = lightning;
    if (sizes.attends[layer]) mixer = attention;
    AddUsualLayer(spec, layer, norm, std::move(mixer), sizes.experts);
    set_residual(sizes.attends[layer] ? sizes.of_attention : sizes.of_lightning, *(spec.blocks.end() - 2));
    set_residual(sizes.of_experts, spec.blocks.back());
  }
  return spec;
}

/// The family of MiniMax-01.
struct MiniMaxFamily {
  static constexpr std::string_view kModelType = "minimax";
  using Layers = LayerTypes<Attention, LightningAttention, MixtureOfExperts>;
};

/// https://huggingface.co/MiniMaxAI/MiniMax-M1-80k, and MiniMax-Text-01, which has the same sizes
struct MiniMax_M1_456B : MiniMaxFamily {
  static constexpr std::string_view kName = "minimax-m1-456b";
  static constexpr ModelSpec Spec() {
    constexpr int kLayers = 80;
    constexpr MiniMaxResidual kResidual = {.alpha = 3.5565588200778455f};
    MiniMaxSizes sizes = {.model_dim = 6144,
                          .vocab_size = 200064,
                          .heads = 64,
                          .kv_heads = 8,
                          .head_dim = 128,
                          .rotary_dim = 64,
                          .rope = {.base = 10000000.0},
                          .experts = {.experts = 32, .chosen = 2, .width = 9216},
                          .of_attention = kResidual,
                          .of_lightning = kResidual,
                          .of_experts = kResidual};
    for (int layer = 1; layer <= kLayers; ++layer) sizes.attends.push_back(layer % 8 == 0);
    return MiniMaxSpec(sizes);
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MINIMAX_MINIMAX_H_
