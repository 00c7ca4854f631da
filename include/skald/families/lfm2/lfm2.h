// SPDX-License-Identifier: Apache-2.0
//
// The LFM2 family (Liquid AI 2025, arXiv:2511.23404): gated short convolutions, and attention with normalised heads in
// a few layers; LFM2-MoE has experts in all but the first ones. The numbers of each size are those of the config.json
// on the page named above it.

#ifndef SKALD_FAMILIES_LFM2_LFM2_H_
#define SKALD_FAMILIES_LFM2_LFM2_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/short_conv.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in. `layers` is their number.
struct Lfm2Sizes {
  int model_dim = 0, vocab_size = 0, layers = 0, heads = 0, kv_heads = 0, feed_forward_dim = 0;
  std::vector<int> attention_layers = {};  ///< in rising order; the others are convolutions
  int conv_width = 3;                      ///< taps, the token itself included
  bool conv_bias = false;                  ///< ShortConv::bias
  bool tied_embeddings = true;
  MixtureOfExperts experts = {};  ///< of all but the first `dense_layers`; none: of no layer
  int dense_layers = 0;
  float norm_epsilon = 1e-5f;
  RopeSpec rope = {.base = 1e6};
};

constexpr ModelSpec Lfm2Spec(const Lfm2Sizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  const int head_dim = sizes.model_dim / sizes.heads;
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = head_dim,
                         .rotary_dim = head_dim,
                         .query_pre_scale = static_cast<double>(head_dim),
                         .head_norm = norm};
  attention.rope = sizes.rope;
  const ShortConv conv = {.width = sizes.model_dim, .conv_width = sizes.conv_width, .bias = sizes.conv_bias};
  const GatedFeedForward dense = {.width = sizes.feed_forward_dim};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (int layer = 0; layer < sizes.layers; ++layer) {
    LayerSpec mixer = conv, feed_forward = dense;
    if (std::ranges::binary_search(sizes.attention_layers, layer)) mixer = attention;
    if (sizes.experts.experts > 0 && layer >= sizes.dense_layers) feed_forward = sizes.experts;
    AddUsualLayer(spec, static_cast<uint32_t>(layer), norm, std::move(mixer), std::move(feed_forward));
  }
  return spec;
}

/// The family of LFM2 without experts.
struct Lfm2Family {
  static constexpr std::string_view kModelType = "lfm2";
  using Layers = LayerTypes<Attention, GatedFeedForward, ShortConv>;
};

/// Common to the experts of all sizes.
constexpr MixtureOfExperts Lfm2Experts() { return {.sigmoid = true, .selection_bias = true, .sum_epsilon = 1e-6f}; }

/// The family of LFM2 with experts.
struct Lfm2MoeFamily {
  static constexpr std::string_view kModelType = "lfm2_moe";
  using Layers = LayerTypes<Attention, GatedFeedForward, MixtureOfExperts, ShortConv>;
};

/// https://huggingface.co/LiquidAI/LFM2-350M
struct LFM2_350M : Lfm2Family {
  static constexpr std::string_view kName = "lfm2-350m";
  static constexpr ModelSpec Spec() {
    return Lfm2Spec({.model_dim = 1024,
                     .vocab_size = 65536,
                     .layers = 16,
                     .heads = 16,
                     .kv_heads = 8,
                     .feed_forward_dim = 4608,
                     .attention_layers = {2, 5, 8, 10, 12, 14}});
  }
};

/// https://huggingface.co/LiquidAI/LFM2-700M
struct LFM2_700M : Lfm2Family {
  static constexpr std::string_view kName = "lfm2-700m";
  static constexpr ModelSpec Spec() {
    return Lfm2Spec({.model_dim = 1536,
                     .vocab_size = 65536,
                     .layers = 16,
                     .heads = 24,
                     .kv_heads = 8,
                     .feed_forward_dim = 6912,
                     .attention_layers = {2, 5, 8, 10, 12, 14}});
  }
};

/// https://huggingface.co/LiquidAI/LFM2-1.2B
struct LFM2_1_2B : Lfm2Family {
  static constexpr std::string_view kName = "lfm2-1.2b";
  static constexpr ModelSpec Spec() {
    return Lfm2Spec({.model_dim = 2048,
                     .vocab_size = 65536,
                     .layers = 16,
                     .heads = 32,
                     .kv_heads = 8,
                     .feed_forward_dim = 8192,
                     .attention_layers = {2, 5, 8, 10, 12, 14}});
  }
};

/// https://huggingface.co/LiquidAI/LFM2-8B-A1B
struct LFM2_8B_A1B : Lfm2MoeFamily {
  static constexpr std::string_view kName = "lfm2-8b-a1b";
  static constexpr ModelSpec Spec() {
    MixtureOfExperts experts = Lfm2Experts();
    experts.experts = 32, experts.chosen = 4, experts.width = 1792;
    return Lfm2Spec({.model_dim = 2048,
                     .vocab_size = 65536,
                     .layers = 24,
                     .heads = 32,
                     .kv_heads = 8,
                     .feed_forward_dim = 7168,
                     .attention_layers = {2, 6, 10, 14, 18, 21},
                     .experts = experts,
                     .dense_layers = 2});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_LFM2_LFM2_H_
