// SPDX-License-Identifier: Apache-2.0
//
// The family of ModernBERT (arXiv:2412.13663): an encoder with RoPE, norms before layers, gated feed-forward layers,
// and a window on each side in most layers.

#ifndef SKALD_FAMILIES_MODERNBERT_MODERNBERT_H_
#define SKALD_FAMILIES_MODERNBERT_MODERNBERT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct ModernBertFamily {
  static constexpr std::string_view kModelType = "modernbert";
};

/// The sizes that models of the family differ in. `slides` has one entry for each layer.
struct ModernBertSizes {
  int model_dim = 0, vocab_size = 0, heads = 0, feed_forward_dim = 0;
  LayerFlags slides = {};  ///< whether each has the window
  int window = 0;          ///< as Attention has it
  Activation activation = Activation::kGeluErf;
  RopeSpec rope = {.base = 160000.0}, sliding_rope = {.base = 10000.0};
  LayerNorm norm = {.epsilon = 1e-5f, .bias = false};
  bool attention_bias = false;     ///< whether its projections have one
  bool feed_forward_bias = false;  ///< likewise
};

constexpr ModelSpec ModernBertSpec(const ModernBertSizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = true,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm};
  const int head_dim = sizes.model_dim / sizes.heads;
  for (size_t i = 0; i < sizes.slides.size(); ++i) {
    const bool slides = sizes.slides[i] != 0;
    AddUsualLayer(
        spec, static_cast<uint32_t>(i), sizes.norm,
        Attention{.heads = sizes.heads,
                  .kv_heads = sizes.heads,
                  .head_dim = head_dim,
                  .rotary_dim = head_dim,
                  .window = slides ? sizes.window : 0,
                  .rope = slides ? sizes.sliding_rope : sizes.rope,
                  .query_pre_scale = static_cast<double>(head_dim),
                  .qkv_bias = sizes.attention_bias,
                  .output_bias = sizes.attention_bias,
                  .both_ways = true},
        GatedFeedForward{
            .width = sizes.feed_forward_dim, .activation = sizes.activation, .bias = sizes.feed_forward_bias});
  }
  if (!spec.blocks.empty()) spec.blocks.front().norm.reset();  // embeddings have theirs
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_MODERNBERT_MODERNBERT_H_
